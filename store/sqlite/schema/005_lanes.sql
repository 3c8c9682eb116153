-- What a claim asks about lanes without going through all of them: whether any is more urgent than the rest, and where suspects wait.

create index lane_urgent on lane (queue, kind, priority) where priority > 0;

create index lane_suspect on lane (queue, kind, name) where suspect = 1;

pragma user_version = 5;
