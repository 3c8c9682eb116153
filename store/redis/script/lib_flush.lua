-- flush writes what the step has changed, and tells those who watch. It is the last thing that a script does.
local function flush()
	flushes.tasks()
	flushes.groups()
	flushes.lanes()
	flushes.limits()
	flushes.sums()
	flushes.notices()
end

-- answer ends a step. What was submitted of tasks follows the answer as it is stored: it need not be packed once more. Without a result there is
-- nothing to tell.
local function answer(result)
	flush()
	if not result then return '\128' end
	if not items then return pack(result) end
	items[1] = pack(result)
	return items
end
