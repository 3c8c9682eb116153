-- flags: allow-oom
-- uses: follow done
-- Complete ends runs by their outcomes, and may claim in the same call.
-- takes {runs = {id, epoch, nonce, outcome, …}, claim}, returns {odd = {number, {state, repeated, err}, …}, claim} and items: an outcome is
-- false for done, a text for done with that result, or a map; odd tells of the runs whose tasks are not simply done
-- keeps: an outcome is applied under its fence alone, as a whole or not at all.
local res = { odd = complete_all(req.runs) }
if req.claim then res.claim = run_claim(req.claim) end
return answer(res)
