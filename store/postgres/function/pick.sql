-- pick locks ready tasks for a claim, lane by lane in turn. Ranks are taken anew after each turn. request: see claim. charge are those
-- whose start was charged to a rate; limited says that a lane with a limit was met, and shut are the keys of those whose rates were closed. With
-- trusting it does not look whether the records can be read: the caller does, and asks anew if one cannot.
-- places are where in the table the tasks lie, and sums how many of which queue and kind they are and how long those had waited at now; null if
-- they were looked at one by one, as what that ends may move others.
--
-- Lanes are looked at in the order of their turns, and no further than the claim needs: one whose head is aged, or is as urgent as any
-- task of the queue, is in its turn whatever comes after it. Only if there is none such are all of them looked at.
create or replace function pick(
	req jsonb, now bigint, out ids uuid[], out charge uuid[], out more boolean, out cursors jsonb, out limited boolean, out shut text[],
	out places tid[], out sums jsonb
) language plpgsql as $$
declare
	kinds constant text[] := sorted_kinds(req->'kinds');
	aged constant bigint := (req->>'aged')::bigint;
	trusting constant boolean := req ? 'trusting';
	ends int := 100; -- of what must not run it ends so many
	may_wait boolean := true;
	q record;
	r record;
	l lim;
	v_kind text[]; v_lane text[]; v_lim text[]; v_flag smallint[]; v_name text[]; v_prio bigint[]; v_since bigint[]; v_paid boolean[];
	v_shut boolean[]; v_full boolean[]; v_opens bigint[];
	p_rank bigint[]; p_turn bigint[]; p_id uuid[]; -- how far each lane was gone through
	n bigint; w bigint; weight bigint; fresh bigint; took bigint; met bigint; passed bigint; top bigint; top_of bigint;
	best int; open_lanes int;
	whole boolean;   -- all lanes were looked at
	wrapped boolean; -- the last one looked at comes before the cursor
	last_over boolean;
	size bigint;     -- so many are looked at next
	listed bigint;   -- so many were there
	m int;           -- so many lanes are known
	pos int;         -- the lane of the last turn
	i int; maybe int;
	over boolean;    -- an open one was passed over
	cursor text; left_over bigint; goes_on boolean; share bigint;
	place record;
	many uuid[]; at tid[]; ranks bigint[]; turns bigint[]; waited bigint; fine boolean;
	begun constant bigint := now;
	by_hand boolean := false; -- some were looked at one by one
begin
	ids := '{}'; charge := '{}'; more := false; cursors := '{}'; limited := false; shut := '{}'; places := '{}'; sums := '[]';
	for q in select * from jsonb_to_recordset(req->'queues') as x (queue text, slots bigint, cursor text) loop
		n := q.slots;
		-- A cursor is the name of a lane, and what is left of its turn, if a claim was full before.
		cursor := split_part(coalesce(q.cursor, ''), chr(2), 1);
		left_over := case when split_part(q.cursor, chr(2), 2) ~ '^[0-9]{1,9}$' then split_part(q.cursor, chr(2), 2)::bigint else 0 end;
		goes_on := left_over > 0;
		v_kind := '{}'; v_lane := '{}'; v_lim := '{}'; v_flag := '{}'; v_name := '{}'; v_prio := '{}'; v_since := '{}'; v_paid := '{}';
		v_shut := '{}'; v_full := '{}'; v_opens := '{}'; p_rank := '{}'; p_turn := '{}'; p_id := '{}';
		whole := false; wrapped := false; size := greatest(16, n + 1); pos := 0; m := 0;
		place := lane_place(cursor);
		if goes_on then
			place.flag := place.flag - 1; -- it is the first
		end if;
		top := urgent(q.queue, kinds, ids);
		loop
			best := 0; open_lanes := 2; i := pos; maybe := 0; over := false;
			while not whole and best = 0 loop
				i := i + 1;
				if i > m then
					listed := 0;
					for r in select * from lanes_round(q.queue, kinds, place.kind, place.lane, place.lim, place.flag, wrapped, cursor, goes_on, size, now) loop
						listed := listed + 1; m := m + 1;
						v_kind[m] := r.kind; v_lane[m] := r.lane; v_lim[m] := r.lim; v_flag[m] := r.flag; v_name[m] := r.name;
						v_prio[m] := r.priority; v_since[m] := r.ready_at; v_paid[m] := r.charged;
						v_shut[m] := r.flag not in (0, 1) or r.blocked in ('order', 'paused'); v_full[m] := r.is_full; v_opens[m] := r.opens;
						p_rank[m] := -9223372036854775808; p_turn[m] := 0; p_id[m] := '00000000-0000-0000-0000-000000000000';
						limited := limited or r.lim <> ''; last_over := r.over;
					end loop;
					whole := listed < size;
					if listed > 0 then
						wrapped := last_over;
						place := lane_place(v_name[m]);
						size := 2 * m;
					end if;
					exit when whole or i > m;
				end if;
				continue when v_shut[i] or v_full[i] or v_opens[i] > 0 and not v_paid[i];
				if n <= 0 or v_prio[i] >= top or now - v_since[i] >= aged and not over then
					best := case when maybe > 0 then maybe else i end;
				elsif now - v_since[i] >= aged and maybe = 0 then
					maybe := i; -- in its turn, unless what is as urgent as any is shut: then one that was passed over may rank higher
				else
					over := true;
				end if;
			end loop;
			if whole then
				open_lanes := 0; top := null;
				for j in 1 .. m loop
					continue when v_shut[j] or v_full[j] or v_opens[j] > 0 and not v_paid[j];
					open_lanes := open_lanes + 1;
					top := greatest(top, v_prio[j]);
				end loop;
				for j in 0 .. m - 1 loop
					exit when open_lanes = 0;
					i := (pos + j) % m + 1;
					continue when v_shut[i] or v_full[i] or v_opens[i] > 0 and not v_paid[i];
					if v_prio[i] = top or now - v_since[i] >= aged then
						best := i;
						exit;
					end if;
				end loop;
			end if;
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
					for i in 1 .. m loop
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
			w := weight_of(q.queue, v_lane[best]);
			share := case when left_over > 0 and v_name[best] = cursor then least(left_over, w) else w end;
			weight := w;
			w := case
				when v_flag[best] = 1 then 1
				when open_lanes = 1 then n
				else least(n, share) end;
			if v_lim[best] <> '' and l.is_set then
				w := least(w, room(l, now)); -- one at least: the first may be paid for
			end if;
			took := 0; met := 0; fresh := 0; fine := false;
			if v_flag[best] = 0 and v_lim[best] = '' then
				-- All at once, if each of them may run.
				if trusting then
					-- They come in their order.
					select array_agg(x.id), array_agg(x.ctid), array_agg(x.rank), array_agg(x.turn), sum(begun - x.ready_at), bool_and(x.fine), count(*)
					into many, at, ranks, turns, waited, fine, met from (
						select t.id, t.ctid, t.rank, t.turn, t.ready_at, (t.start_by_at is null or t.start_by_at > now) and (t.grp is null or t.asked <> ''
							or not exists (select 1 from grp g where g.id = t.grp and g.aborting <> '')) as fine
						from task t
						where t.state = 'ready' and t.queue = q.queue and t.kind = v_kind[best] and t.lane = v_lane[best] and t.lim = v_lim[best] and t.flag = v_flag[best]
							and (t.rank, t.turn, t.id) > (p_rank[best], p_turn[best], p_id[best]) and t.id <> all (ids)
						order by t.rank, t.turn, t.id limit w for update skip locked
					) x;
				else
					select array_agg(x.id), array_agg(x.rank), array_agg(x.turn), bool_and(x.fine), count(*) into many, ranks, turns, fine, met from (
						select t.id, t.rank, t.turn, readable(b.rest) and (t.start_by_at is null or t.start_by_at > now) and (t.grp is null or t.asked <> ''
							or not exists (select 1 from grp g where g.id = t.grp and g.aborting <> '')) as fine
						from task t join body b on b.id = t.id
						where t.state = 'ready' and t.queue = q.queue and t.kind = v_kind[best] and t.lane = v_lane[best] and t.lim = v_lim[best] and t.flag = v_flag[best]
							and (t.rank, t.turn, t.id) > (p_rank[best], p_turn[best], p_id[best]) and t.id <> all (ids)
						order by t.rank, t.turn, t.id limit w for update of t skip locked
					) x;
				end if;
				if met = 0 then
					fine := true; -- others have locked what there is
				elsif fine then
					ids := ids || many;
					took := met;
					p_rank[best] := ranks[met]; p_turn[best] := turns[met]; p_id[best] := many[met];
					if trusting then
						places := places || at;
						sums := sums || jsonb_build_array(jsonb_build_object('queue', q.queue, 'kind', v_kind[best], 'n', met, 'waited', waited));
					else
						by_hand := true;
					end if;
				else
					met := 0;
				end if;
			end if;
			while fine is not true loop -- what must not run makes room for the next of the lane
				passed := 0; by_hand := true;
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
			if took > 0 then
				pos := best;
				-- What the end of the claim cuts short goes on with the next. A lane that is alone may have had several turns.
				left_over := case when took = n then ((share - took) % weight + weight) % weight else 0 end;
				cursors := cursors || jsonb_build_object(q.queue, v_name[best] || case when left_over > 0 then chr(2) || left_over else '' end);
				left_over := 0;
				if v_lim[best] <> '' then
					l := take_slots(v_lim[best], took, fresh, now);
					if l.is_set then
						top_of := rates_open(l, now);
						for i in 1 .. m loop
							if v_lim[i] = v_lim[best] then
								v_full[i] := l.most > 0 and l.running >= l.most; v_opens[i] := top_of;
							end if;
						end loop;
					end if;
				end if;
			end if;
			n := n - took;
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
			if top > 0 and took > 0 and not whole then
				top := urgent(q.queue, kinds, ids);
			end if;
		end loop;
		for j in 1 .. m loop
			if v_opens[j] > 0 and not v_paid[j] then
				shut := shut || v_lim[j];
			end if;
		end loop;
	end loop;
	if by_hand then
		places := null;
	end if;
end $$;

-- urgent is the highest priority of the ready tasks of a queue and some kinds, other than these; 0 if none has more. No lane ranks higher,
-- save by its age.
create or replace function urgent(q text, kinds text[], taken uuid[]) returns bigint language plpgsql volatile as $$
begin
	return (
		select coalesce(max(u.priority), 0) from unnest(kinds) k, lateral (
			select t.priority from task t
			where t.state = 'ready' and t.priority > 0 and t.queue = q and t.kind = k and t.id <> all (taken)
			order by t.priority desc limit 1
		) u
	);
end $$;

-- pick_suspects locks suspects alone. A solo one comes without company, and only to a worker that holds nothing. The worker is guarded so
-- that no other claim of its own is under way.
create or replace function pick_suspects(req jsonb, now bigint, out ids uuid[], out charge uuid[], out more boolean) language plpgsql as $$
declare
	kinds constant text[] := sorted_kinds(req->'kinds');
	is_free constant boolean := not coalesce((req->>'company')::boolean, false) and not exists (select 1 from task where state = 'running' and worker = req->>'worker');
	n int := (req->>'suspects')::int;
	q text;
	o record;
	r record;
	tries int;
begin
	ids := '{}'; charge := '{}'; more := false;
	for q in select e->>'queue' from jsonb_array_elements(req->'queues') e loop
		for o in select * from suspect_lanes(q, kinds) loop
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
