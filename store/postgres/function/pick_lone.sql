-- pick_lone is pick for what is commonest: one queue, whose ready tasks of these kinds are all in one lane that nothing shuts; there is no pause.
-- Such a lane is in its turn whatever the cursor says. It is short because whatever is evaluated costs a claim as much as a task or two. ids
-- is null if it is another case, or if one of the tasks must not run: that is for pick.
create or replace function pick_lone(
	q text, slots bigint, cursor text, kinds text[], now bigint, out ids uuid[], out places tid[], out sums jsonb, out more boolean, out cursors jsonb
) language plpgsql as $$
declare
	before constant text[] := string_to_array(split_part(cursor, chr(2), 1), chr(1)); -- the lane of the last claim
	lanes bigint := 1;
	of_kind text := before[1];
	of_lane text := before[2];
	is_open boolean := true;
	x record;
	name text; -- of the lane
	-- Where several are at it, a task that another has locked or written since the oldest transaction under way began is passed over by a look at its row.
	-- To try to lock it costs more, and may keep its run from ending: if the other has committed meanwhile, it is the running task that is locked. What is
	-- passed over so although it is free, as a claim of it was undone, is found when there is too little else, or by one of the claims that try all.
	crowded boolean := shard(current_schema()) >= 2 and random() < 0.9;
	oldest constant bigint := pg_snapshot_xmin(pg_current_snapshot())::text::bigint % 4294967296;
begin
	more := false; cursors := '{}';
	-- Often it is the lane of the last claim alone. Then none is searched for: that would pass over all tasks that claims have taken just now.
	if not coalesce(of_kind = any (kinds) and before[3:4] = array['', '0'], false) or exists (
		select 1 from task t where t.state = 'ready' and t.queue = q and t.kind = of_kind and t.lane < of_lane
	) or exists (
		select 1 from task t where t.state = 'ready' and t.queue = q and t.kind = of_kind and (t.lane, t.lim, t.flag) > (of_lane, '', 0::smallint)
	) or cardinality(kinds) > 1 and exists (
		select 1 from unnest(kinds) k (name) cross join lateral (select 1 from task t where t.state = 'ready' and t.queue = q and t.kind = k.name limit 1) l
		where k.name <> of_kind
	) then
		select count(*), min(l.kind), min(l.lane), bool_and(l.flag = 0 and l.lim = '' and not exists (
			select 1 from task t where t.state = 'ready' and t.queue = q and t.kind = l.kind and (t.lane, t.lim, t.flag) > (l.lane, l.lim, l.flag)))
		into lanes, of_kind, of_lane, is_open from unnest(kinds) k (name) cross join lateral (
			select t.kind, t.lane, t.lim, t.flag from task t where t.state = 'ready' and t.queue = q and t.kind = k.name
			order by t.lane, t.lim, t.flag, t.rank, t.turn, t.id limit 1
		) l;
	end if;
	if lanes = 0 then
		ids := '{}';
		return;
	end if;
	if lanes > 1 or not is_open then
		return;
	end if;
	loop -- They come in their order.
		select array_agg(y.id) as ids, array_agg(y.ctid) as places, array_agg(y.rank) as ranks, array_agg(y.turn) as turns, bool_and(y.fine) as fine,
			count(*) as n, sum(now - y.ready_at) as waited
		into x from (
			select t.id, t.ctid, t.rank, t.turn, t.ready_at, (t.start_by_at is null or t.start_by_at > now) and (t.grp is null or t.asked <> ''
				or not exists (select 1 from grp g where g.id = t.grp and g.aborting <> '')) as fine
			from task t
			where t.state = 'ready' and t.queue = q and t.kind = of_kind and t.lane = of_lane and t.lim = '' and t.flag = 0
				and (not crowded or t.xmax = '0' or is_before(t.xmax, oldest))
			order by t.rank, t.turn, t.id limit greatest(slots, 0) for update skip locked
		) y;
		exit when not crowded or x.n = slots;
		crowded := false;
	end loop;
	if x.n = 0 then
		ids := '{}';
		more := exists ( -- others have locked what there is
			select 1 from task t where t.state = 'ready' and t.queue = q and t.kind = of_kind and t.lane = of_lane and t.lim = '' and t.flag = 0);
		return;
	end if;
	if not x.fine then
		return;
	end if;
	ids := x.ids; places := x.places;
	sums := jsonb_build_array(jsonb_build_object('queue', q, 'kind', of_kind, 'n', x.n, 'waited', x.waited));
	more := crowded or exists (
		select 1 from task t
		where t.state = 'ready' and t.queue = q and t.kind = of_kind and t.lane = of_lane and t.lim = '' and t.flag = 0
			and (t.rank, t.turn, t.id) > (x.ranks[x.n], x.turns[x.n], x.ids[x.n]));
	name := of_kind || chr(1) || of_lane || chr(1) || chr(1) || '0';
	if x.n = slots then
		name := name || rest_of_turn(cursor, name, weight_of(q, of_lane), x.n);
	end if;
	cursors := jsonb_build_object(q, name);
end $$;

-- is_before tells whether a transaction began before another, of which the number is given. Numbers go round.
create or replace function is_before(a xid, b bigint) returns boolean language sql immutable as $$
	select (b - a::text::bigint + 4294967296) % 4294967296 between 1 and 2147483647
$$;

-- rest_of_turn is what the cursor of a full claim keeps besides the name of a lane whose turn is not over. It may have begun with the claim
-- before.
create or replace function rest_of_turn(cursor text, name text, weight bigint, took bigint) returns text language plpgsql immutable as $$
declare
	share bigint := weight;
begin
	if split_part(cursor, chr(2), 1) = name and split_part(cursor, chr(2), 2) ~ '^[0-9]{1,9}$' and split_part(cursor, chr(2), 2)::bigint > 0 then
		share := least(split_part(cursor, chr(2), 2)::bigint, weight);
	end if;
	took := ((share - took) % weight + weight) % weight; -- a lane that is alone may have had several turns
	return case when took > 0 then chr(2) || took else '' end;
end $$;
