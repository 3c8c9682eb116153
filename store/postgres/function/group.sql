-- Groups. Whoever changes one has its row locked.

-- create_group makes a group of a prepared one. A known id has no effect.
create or replace function create_group(g jsonb, now bigint) returns boolean language plpgsql as $$
begin
	insert into grp (id, name, hold, seal, parent, on_close, labels, retention, kept, created_at, updated_at)
	values ((g->>'id')::uuid, coalesce(g->>'name', ''), coalesce((g->>'hold')::boolean, false), coalesce((g->>'seal')::boolean, false),
		(g->>'parent')::uuid, nullif(g->'on_close', 'null'), nullif(g->'labels', 'null'), coalesce((g->>'retention')::bigint, 0),
		coalesce((g->>'kept')::bigint, 0), now, now)
	on conflict do nothing;
	return found;
end $$;

-- joinable locks a group and says why it takes no members; null if it does.
create or replace function joinable(of uuid) returns text language plpgsql as $$
declare
	g record;
begin
	select state, aborting into g from grp where id = of for update;
	if not found then
		return 'notfound';
	end if;
	if g.aborting <> '' or g.state not in ('filling', 'held') then
		return g.state;
	end if;
	return null;
end $$;

-- count_end counts the ending of a member, which was in the given stage before.
create or replace function count_end(t task, was smallint, now bigint) returns void language plpgsql as $$
begin
	if t.grp is null then
		return;
	end if;
	update grp set
		done = done + (t.state = 'done')::int, failed = failed + (t.state = 'failed')::int, cancelled = cancelled + (t.state = 'cancelled')::int,
		living = living - (was = 1)::int, ended = ended + 1, version = version + 1, updated_at = now
	where id = t.grp;
	perform try_close(t.grp, now);
	perform ripen(t.grp);
end $$;

-- advance lets a group open if nothing keeps it from it, and close if nobody lives.
create or replace function advance(of uuid, now bigint) returns void language plpgsql as $$
begin
	update grp set
		state = case when not sealed then 'filling' when hold then 'held' else 'open' end, version = version + 1, updated_at = now
	where id = of and state <> 'closed';
	if found then
		perform try_close(of, now);
		perform ripen(of);
	end if;
end $$;

-- try_close closes an open group whose last member has ended.
create or replace function try_close(of uuid, now bigint) returns void language plpgsql as $$
declare
	g grp;
	keep uuid;
begin
	select * into g from grp where id = of and state = 'open' and total - done - failed - cancelled <= 0 for update;
	if not found then
		return;
	end if;
	update grp set state = 'closed', closed_at = now, version = version + 1, updated_at = now where id = of;
	if g.on_close is not null then
		keep := derive('close', of::text, g.generation::text);
		perform submit_one(g.on_close || jsonb_build_object('id', keep), true, now);
	else
		keep := g.parent;
	end if;
	perform wake(g.parent, now);
	update task set keeps = true where id = keep;
	if found then
		update grp set keeper = keep where id = of;
		return;
	end if;
	update grp set keeper = null where id = of;
	perform unkeep(of, now);
end $$;

-- unkeep lets the members of a closed group expire.
create or replace function unkeep(of uuid, now bigint) returns void language plpgsql as $$
begin
	update grp set expiring = true where id = of and state = 'closed';
	if found then
		perform ripen(of);
		perform lay_bare(of, now);
	end if;
end $$;

-- ripen notes that members wait to be freed, asked or marked.
create or replace function ripen(of uuid) returns void language plpgsql as $$
begin
	update grp set ripe = nextval('ripe')
	where id = of and ripe is null
		and (state = 'open' and waiting > 0 or aborting <> '' and living > 0 or expiring and ended > 0);
end $$;

-- lay_bare notes when a group without members may go.
create or replace function lay_bare(of uuid, now bigint) returns void language plpgsql as $$
begin
	update grp set gone_at = now + retention
	where id = of and gone_at is null and state = 'closed' and expiring and members = 0 and retention >= 0;
end $$;

-- reopen takes a member back whose ending, in the given state, no longer counts.
create or replace function reopen(t task, now bigint) returns void language plpgsql as $$
begin
	update grp set
		done = done - (t.state = 'done')::int, failed = failed - (t.state = 'failed')::int, cancelled = cancelled - (t.state = 'cancelled')::int,
		living = living + 1, ended = ended - (t.stage = 3)::int, version = version + 1, updated_at = now
	where id = t.grp;
	update grp set
		state = 'open', closed_at = null, expiring = false, generation = generation + 1, keeper = null, gone_at = null
	where id = t.grp and state = 'closed';
end $$;

-- change_group seals, releases or aborts a group. request: id, what, why. It returns the group.
create or replace function change_group(req jsonb) returns jsonb language plpgsql as $$
declare
	now bigint := begin_step(req);
	g grp;
begin
	select * into g from grp where id = (req->>'id')::uuid for update;
	if not found then
		return jsonb_build_object('err', 'notfound');
	end if;
	case req->>'what'
	when 'seal' then
		if not g.sealed then
			perform seal_group(g.id, now);
		end if;
	when 'release' then
		if g.hold then
			update grp set hold = false where id = g.id;
			perform advance(g.id, now);
		end if;
	when 'abort' then
		if g.state <> 'closed' and g.aborting = '' then
			update grp set aborting = req->>'why', sealed = true, hold = false where id = g.id;
			perform advance(g.id, now);
		end if;
	end case;
	return jsonb_build_object('hints', hints());
end $$;

-- seal_group says that all first members are there.
create or replace function seal_group(of uuid, now bigint) returns void language plpgsql as $$
begin
	update grp set sealed = true where id = of;
	perform advance(of, now);
end $$;
