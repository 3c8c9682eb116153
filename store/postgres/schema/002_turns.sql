-- Schedules and limits that a program declares; tasks that failed and fail the rest of their ordered lane.

alter table schedule add column declared bytea not null default '';

alter table lim add column declared boolean not null default false;

create index ended_broken on ended (queue, kind, lane, lim, ended_at) where ord = 'fail' and state = 'failed' and reason <> 'order';

-- It answers more than it did.
drop function if exists take_key(jsonb, bigint);
