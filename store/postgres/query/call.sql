-- Calls of the functions: each takes one request, and is one transaction.

-- name: submit
select ns.submit($1::text::jsonb);
-- name: complete
select ns.complete($1::text::jsonb);
-- name: complete_done
select ns.complete_done($1::bigint, $2::uuid[], $3::bigint[], $4::uuid[], $5::bytea[], $6::bigint[]);
-- name: exchange
select c.meta, c.nth, :taken from ns.exchange($1::text::jsonb, $2::uuid[], $3::bigint[], $4::uuid[], $5::bytea[], $6::bigint[]) c;
-- name: submit_claim
select c.meta, :given from ns.submit_rows($1::text::jsonb) c;
-- name: save
select ns.save($1::text::jsonb);
-- name: save_many
select ns.save_many($1::text::jsonb);
-- name: stage
select ns.stage($1::text::jsonb);
-- name: cancel
select ns.cancel($1::text::jsonb);
-- name: retry
select ns.retry($1::text::jsonb);
-- name: free
select ns.free($1::text::jsonb);
-- name: delete_task
select ns.delete_task($1::text::jsonb);
-- name: promote
select ns.promote($1::text::jsonb);
-- name: prune
select ns.prune($1::text::jsonb);
-- name: change_group
select ns.change_group($1::text::jsonb);
-- name: send
select ns.send($1::text::jsonb);
-- name: put_limit
select ns.put_limit($1::text::jsonb);
-- name: put_pause
select ns.put_pause($1::text::jsonb);
-- name: resume
select ns.resume($1::text::jsonb);
-- name: put_weight
select ns.put_weight($1::text::jsonb);
-- name: put_schedule
select ns.put_schedule($1::text::jsonb);
-- name: tick
select ns.tick($1::text::jsonb);
-- name: join_worker
select ns.join_worker($1::text::jsonb);
-- name: renew
select ns.renew($1::text::jsonb);
-- name: beat
select ns.beat($1::text::jsonb);
-- name: leave
select ns.leave($1::text::jsonb);
-- name: recover_gate
select to_jsonb(ns.recover_gate($1::text::jsonb));
-- name: recover
select ns.recover($1::text::jsonb);
