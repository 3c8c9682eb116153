-- pick locks ready tasks for a claim, lane by lane in turn. Ranks are taken anew after each turn. request: see claim. charge are those
-- whose start was charged to a rate.
create or replace function pick(req jsonb, now bigint, out ids uuid[], out charge uuid[], out more boolean, out cursors jsonb) language plpgsql as $$
declare
	kinds constant text[] := (select array_agg(k) from jsonb_array_elements_text(req->'kinds') k);
	aged constant bigint := (req->>'aged')::bigint;
	ends int := 100; -- of what must not run it ends so many
	may_wait boolean := true;
	q record;
	r record;
	l lim;
	v_kind text[]; v_lane text[]; v_lim text[]; v_flag smallint[]; v_name text[]; v_prio bigint[]; v_since bigint[]; v_paid boolean[];
	v_shut boolean[]; v_full boolean[]; v_opens bigint[];
	p_rank bigint[]; p_turn bigint[]; p_id uuid[]; -- how far each lane was gone through
	n bigint; w bigint; fresh bigint; took bigint; met bigint; passed bigint; top bigint; top_of bigint;
	best int; open_lanes int;
	cursor text;
begin
	ids := '{}'; charge := '{}'; more := false; cursors := '{}';
	for q in select * from jsonb_to_recordset(req->'queues') as x (queue text, slots bigint, cursor text) loop
		n := q.slots;
		cursor := coalesce(q.cursor, '');
		select coalesce(array_agg(o.kind), '{}'), array_agg(o.lane), array_agg(o.lim), array_agg(o.flag), array_agg(o.name), array_agg(o.priority),
			array_agg(o.ready_at), array_agg(o.charged), array_agg(o.blocked in ('order', 'paused')), array_agg(o.is_full), array_agg(o.opens),
			array_agg('-9223372036854775808'::bigint), array_agg(0::bigint), array_agg('00000000-0000-0000-0000-000000000000'::uuid)
		into v_kind, v_lane, v_lim, v_flag, v_name, v_prio, v_since, v_paid, v_shut, v_full, v_opens, p_rank, p_turn, p_id
		from lanes_of(q.queue, kinds, now) o where o.flag in (0, 1);
		loop
			best := 0; open_lanes := 0;
			for i in 1 .. cardinality(v_kind) loop
				continue when v_shut[i] or v_full[i] or v_opens[i] > 0 and not v_paid[i];
				open_lanes := open_lanes + 1;
				top_of := case when now - v_since[i] >= aged then 9223372036854775807 else v_prio[i] end;
				if best = 0 or top_of > top then
					best := i; top := top_of;
				elsif top_of = top and v_name[best] collate "C" <= cursor and v_name[i] collate "C" > cursor then
					best := i;
				end if;
			end loop;
			if n <= 0 then
				more := more or best > 0;
				exit;
			end if;
			exit when best = 0;
			if v_lim[best] <> '' then
				-- The first limit or line is waited for. While others may wait for what is held here, further ones are not.
				if may_wait then
					select * into l from lim where key = v_lim[best] for update;
				else
					select * into l from lim where key = v_lim[best] for update skip locked;
					if not found and exists (select 1 from lim where key = v_lim[best]) then
						v_shut[best] := true; more := true;
						continue;
					end if;
				end if;
				may_wait := false;
				now := clock(); -- who held the limit before has charged it later than this step began: an older clock would take that back
				if l.is_set then
					top_of := rates_open(l, now);
					for i in 1 .. cardinality(v_kind) loop
						if v_lim[i] = v_lim[best] then
							v_full[i] := l.most > 0 and l.running >= l.most; v_opens[i] := top_of;
						end if;
					end loop;
					continue when v_full[best] or v_opens[best] > 0 and not v_paid[best];
				end if;
			end if;
			if v_flag[best] = 1 then
				if not lock_line(q.queue, v_kind[best], v_lane[best], v_lim[best], may_wait) then
					v_shut[best] := true; more := true;
					continue;
				end if;
				may_wait := false;
				if line_runs(q.queue, v_kind[best], v_lane[best], v_lim[best]) then -- a statement of its own: it looks after the lock
					v_shut[best] := true;
					continue;
				end if;
			end if;
			w := case
				when v_flag[best] = 1 then 1
				when open_lanes = 1 then n
				else least(n, weight_of(q.queue, v_lane[best])) end;
			if v_lim[best] <> '' and l.is_set then
				w := least(w, room(l, now)); -- one at least: the first may be paid for
			end if;
			took := 0; met := 0; fresh := 0;
			loop -- what must not run makes room for the next of the lane
				passed := 0;
				for r in
					select t as row, readable(b.rest) as is_good from task t join body b on b.id = t.id
					where t.state = 'ready' and t.queue = q.queue and t.kind = v_kind[best] and t.lane = v_lane[best] and t.lim = v_lim[best] and t.flag = v_flag[best]
						and (t.rank, t.turn, t.id) > (p_rank[best], p_turn[best], p_id[best]) and t.id <> all (ids)
					order by t.rank, t.turn, t.id limit least(w - took, ends) for update of t skip locked
				loop
					passed := passed + 1;
					if v_flag[best] = 1 and (r.row).id <> line_head(q.queue, v_kind[best], v_lane[best], v_lim[best]) then
						v_shut[best] := true;
						exit;
					end if;
					if not fit(r.row, r.is_good, now) then
						ends := ends - 1;
						if (r.row).owned then
							-- It is ready again, and may stand elsewhere in the lane; a lane that it was all of is a new one, for the next claim.
							p_rank[best] := -9223372036854775808;
							v_shut[best] := not exists (
								select 1 from task t
								where t.state = 'ready' and t.queue = q.queue and t.kind = v_kind[best] and t.lane = v_lane[best] and t.lim = v_lim[best]
									and t.flag = v_flag[best] and t.id <> all (ids) and t.id <> (r.row).id);
						end if;
						exit; -- its end may have changed the next: look again
					end if;
					p_rank[best] := (r.row).rank; p_turn[best] := (r.row).turn; p_id[best] := (r.row).id;
					ids := ids || (r.row).id;
					took := took + 1;
					if v_lim[best] <> '' and not (r.row).charged and l.is_set and cardinality(l.steps) > 0 then
						charge := charge || (r.row).id;
						fresh := fresh + 1;
					end if;
				end loop;
				met := met + passed;
				exit when passed = 0 or took >= w or ends <= 0 or v_shut[best];
			end loop;
			n := n - took;
			if took > 0 then
				cursor := v_name[best];
				cursors := cursors || jsonb_build_object(q.queue, cursor);
				if v_lim[best] <> '' then
					l := take_slots(v_lim[best], took, fresh, now);
					if l.is_set then
						top_of := rates_open(l, now);
						for i in 1 .. cardinality(v_kind) loop
							if v_lim[i] = v_lim[best] then
								v_full[i] := l.most > 0 and l.running >= l.most; v_opens[i] := top_of;
							end if;
						end loop;
					end if;
				end if;
			end if;
			if v_flag[best] = 1 and took > 0 then
				v_shut[best] := true; -- one of it runs
			elsif met = 0 then
				v_shut[best] := true; more := true; -- others have locked what there is
			elsif not v_shut[best] then
				select t.priority, t.ready_at, t.charged into r from task t
				where t.state = 'ready' and t.queue = q.queue and t.kind = v_kind[best] and t.lane = v_lane[best] and t.lim = v_lim[best] and t.flag = v_flag[best]
					and (t.rank, t.turn, t.id) > (p_rank[best], p_turn[best], p_id[best]) and t.id <> all (ids)
				order by t.rank, t.turn, t.id limit 1;
				if found then
					v_prio[best] := r.priority; v_since[best] := r.ready_at; v_paid[best] := r.charged;
				else
					v_shut[best] := true;
				end if;
			end if;
			if ends <= 0 then
				more := true;
				exit;
			end if;
		end loop;
	end loop;
end $$;

-- pick_suspects locks suspects alone. A solo one comes without company, and only to a worker that holds nothing. The worker is guarded so
-- that no other claim of its own is under way.
create or replace function pick_suspects(req jsonb, now bigint, out ids uuid[], out charge uuid[], out more boolean) language plpgsql as $$
declare
	kinds constant text[] := (select array_agg(k) from jsonb_array_elements_text(req->'kinds') k);
	is_free constant boolean := not exists (select 1 from task where state = 'running' and worker = req->>'worker');
	n int := (req->>'suspects')::int;
	q text;
	o record;
	r record;
	tries int;
begin
	ids := '{}'; charge := '{}'; more := false;
	for q in select e->>'queue' from jsonb_array_elements(req->'queues') e loop
		for o in select * from lanes_of(q, kinds, now) x where x.flag in (2, 3) loop
			for tries in 1 .. 1000 loop
				exit when n <= 0;
				select t as row, readable(b.rest) as is_good into r from task t join body b on b.id = t.id
				where t.state = 'ready' and t.queue = q and t.kind = o.kind and t.lane = o.lane and t.lim = o.lim and t.flag = o.flag and t.id <> all (ids)
				order by t.rank, t.turn, t.id limit 1 for update of t skip locked;
				exit when not found or is_blocked(r.row, now);
				exit when (r.row).solo and (not is_free or cardinality(ids) > 0); -- its turn comes when nothing else is held
				continue when not fit(r.row, r.is_good, now);
				ids := ids || (r.row).id;
				if (r.row).lim <> '' and take_slot((r.row).lim, (r.row).charged, now) then
					charge := charge || (r.row).id;
				end if;
				n := n - 1;
				if (r.row).solo then
					return;
				end if;
				exit when (r.row).ord <> '';
			end loop;
		end loop;
	end loop;
end $$;

-- is_blocked tells whether pauses, limits and order keep a locked task from running now.
create or replace function is_blocked(t task, now bigint) returns boolean language plpgsql as $$
declare
	l lim;
	paid boolean;
begin
	if t.ord <> '' then
		if not lock_line(t.queue, t.kind, t.lane, t.lim, false) then
			return true;
		end if;
		if line_runs(t.queue, t.kind, t.lane, t.lim) or t.id <> line_head(t.queue, t.kind, t.lane, t.lim) then -- after the lock
			return true;
		end if;
	end if;
	if is_paused(t.queue, t.kind, t.lane, now) then
		return true;
	end if;
	if t.lim = '' then
		return false;
	end if;
	select * into l from lim where key = t.lim and is_set for update;
	if not found then
		return false;
	end if;
	select o.charged into paid from task o
	where o.state = 'ready' and o.queue = t.queue and o.kind = t.kind and o.lane = t.lane and o.lim = t.lim and o.flag = t.flag
	order by o.rank, o.turn, o.id limit 1; -- the head of a lane speaks for it
	return l.most > 0 and l.running >= l.most or not paid and rates_open(l, now) > 0;
end $$;
