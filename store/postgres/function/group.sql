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
declare
	g grp;
begin
	if t.grp is null then
		return;
	end if;
	update grp set
		done = done + (t.state = 'done')::int, failed = failed + (t.state = 'failed')::int, cancelled = cancelled + (t.state = 'cancelled')::int,
		living = living - (was = 1)::int, ended = ended + 1, version = version + 1, updated_at = now
	where id = t.grp
	returning * into g;
	if g.state = 'open' and g.total - g.done - g.failed - g.cancelled <= 0 or g.ripe is null and has_ripe(g) then
		perform settle_group(g, now);
	end if;
end $$;

-- has_ripe tells whether members wait to be freed, asked or marked.
create or replace function has_ripe(g grp) returns boolean language sql immutable as $$
	select g.state = 'open' and g.waiting > 0 or g.aborting <> '' and g.living > 0 or g.expiring and g.ended > 0
$$;

-- settle_group closes an open group whose last member has ended, notes what is to be done with members, and writes what it changed of a
-- group that is locked.
create or replace function settle_group(g grp, now bigint) returns void language plpgsql as $$
declare
	keep uuid := g.parent;
begin
	if g.state = 'open' and g.total - g.done - g.failed - g.cancelled <= 0 then
		g.state := 'closed';
		g.closed_at := now;
		if g.on_close is not null then
			keep := derive('close', g.id::text, g.generation::text);
			perform submit_one(g.on_close || jsonb_build_object('id', keep), true, now);
		end if;
		perform wake(g.parent, now);
		g.keeper := null;
		g.expiring := true;
		if keep is not null then
			update task set keeps = true where id = keep;
			if found then
				g.keeper := keep;
				g.expiring := false;
			end if;
		end if;
	end if;
	if g.ripe is null and has_ripe(g) then
		g.ripe := nextval('ripe');
	end if;
	if g.gone_at is null and g.state = 'closed' and g.expiring and g.members = 0 and g.retention >= 0 then
		g.gone_at := now + g.retention;
	end if;
	update grp set state = g.state, sealed = g.sealed, hold = g.hold, aborting = g.aborting, closed_at = g.closed_at, keeper = g.keeper,
		expiring = g.expiring, ripe = g.ripe, gone_at = g.gone_at, version = version + 1, updated_at = now
	where id = g.id;
end $$;

-- advance lets a group, which is locked, open if nothing keeps it from it, and close if nobody lives.
create or replace function advance(g grp, now bigint) returns void language plpgsql as $$
begin
	if g.state <> 'closed' then
		g.state := case when not g.sealed then 'filling' when g.hold then 'held' else 'open' end;
	end if;
	perform settle_group(g, now);
end $$;

-- unkeep lets the members of a closed group, which is locked, expire.
create or replace function unkeep(of uuid, now bigint) returns void language plpgsql as $$
declare
	g grp;
begin
	select * into g from grp where id = of and state = 'closed' for update;
	if found then
		g.expiring := true;
		perform settle_group(g, now);
	end if;
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
			g.sealed := true;
			perform advance(g, now);
		end if;
	when 'release' then
		if g.hold then
			g.hold := false;
			perform advance(g, now);
		end if;
	when 'abort' then
		if g.state <> 'closed' and g.aborting = '' then
			g.aborting := req->>'why';
			g.sealed := true;
			g.hold := false;
			perform advance(g, now);
		end if;
	end case;
	return jsonb_build_object('hints', hints());
end $$;

-- seal_group says that all first members are there.
create or replace function seal_group(of uuid, now bigint) returns void language plpgsql as $$
declare
	g grp;
begin
	select * into g from grp where id = of for update;
	g.sealed := true;
	perform advance(g, now);
end $$;
