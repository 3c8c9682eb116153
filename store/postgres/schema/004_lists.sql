-- The dead letter is listed by itself, whatever else has ended.
create index if not exists ended_failed on ended (id) where state = 'failed';
