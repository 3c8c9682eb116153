-- flags: allow-oom
-- Claim takes ready tasks for a worker.
-- takes {worker, nonce, again, queues = {{queue, slots, cursor, left}}, kinds (sorted), suspects}, returns {ids, hots, which, cursors, lefts, next, again} or {err}, and items
-- keeps: a task is given to one claim alone, and what it ends on the way (aborted, expired, corrupt) is at most a chunk.
return answer(run_claim(req))
