-- It answers more than it did.
drop function if exists pick(jsonb, bigint);
