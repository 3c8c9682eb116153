-- What a claim asks about lanes without going through all of them: whether any is more urgent than the rest, and where suspects wait.

create index task_urgent on task (queue, kind, priority) where state = 'ready' and priority > 0;

create index task_suspect on task (queue, kind, lane, lim, flag, rank, turn, id) where state = 'ready' and flag >= 2;

-- They take or answer more than they did, or nobody calls them any more.
drop function if exists pick(jsonb, bigint);
drop function if exists next_claim(jsonb, bigint);
drop function if exists lanes_of(text, text[], bigint, text, bigint);
