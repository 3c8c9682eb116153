-- Blobs and their chunks.

-- put_chunk stores a chunk, once. It returns false if another one has its number.
create or replace function put_chunk(of text, n bigint, bytes bytea) returns boolean language plpgsql as $$
declare
	now constant bigint := begin_step('{}');
begin
	insert into chunk (key, number, data) values (of, n, bytes) on conflict do nothing;
	if not found then
		return (select c.data = bytes from chunk c where c.key = of and c.number = n);
	end if;
	insert into blob (key, at) values (of, now) on conflict (key) do update set at = excluded.at;
	return true;
end $$;

-- delete_blob removes some chunks of a blob, the last ones first. It returns whether some are left.
create or replace function delete_blob(of text) returns boolean language plpgsql as $$
declare
	last bigint[];
begin
	perform begin_step('{}');
	perform 1 from blob where key = of for update;
	select array_agg(c.number) into last from (select number from chunk where key = of order by number desc limit 100) c;
	delete from chunk where key = of and number = any (last);
	if exists (select 1 from chunk where key = of) then
		return true;
	end if;
	delete from blob where key = of;
	return false;
end $$;
