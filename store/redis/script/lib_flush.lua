-- flush writes what the step has changed, and tells those who watch. It is the last thing that a script does.
local function flush()
	flush_tasks()
	flush_groups()
	flush_lanes()
	flush_limits()
	flush_sums()
	flush_notices()
end

local function answer(result)
	flush()
	return pack(result)
end
