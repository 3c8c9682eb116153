-- How far the members of an open group have been freed: what lies before it is dead index entries, which a search need not pass again.

alter table grp add column freed_to uuid;
