package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/outlast-go/outlast/store"
)

var _ store.Repairer = (*Store)(nil)

// Repair derives one thing anew from the records of tasks. It is a transaction of several statements: what is mended is locked before it is
// counted.
func (s *Store) Repair(ctx context.Context, r store.Repair) (mended bool, err error) {
	if err := r.Validate(); err != nil {
		return false, err
	}
	if err := s.begin(ctx); err != nil {
		return false, err
	}
	var told *wireHints
	err = patiently(ctx, func() error {
		return pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) (err error) {
			mended, told, err = s.repairIn(ctx, tx, r)
			return err
		})
	})
	if err != nil {
		return false, s.tell("repair", err)
	}
	if mended {
		s.publishWire(told)
	}
	return mended, nil
}

func (s *Store) repairIn(ctx context.Context, tx pgx.Tx, r store.Repair) (mended bool, told *wireHints, err error) {
	if _, err := tx.Exec(ctx, s.q.get("repair_path")); err != nil {
		return false, nil, err
	}
	var now int64
	if err := tx.QueryRow(ctx, s.q.get("repair_begin"), fmt.Sprintf(`{"horizon":%d}`, int64(s.cfg.Timing.Horizon))).Scan(&now); err != nil {
		return false, nil, err
	}
	switch {
	case r.Limit != "":
		mended, err = s.repairLimit(ctx, tx, r.Limit)
	case r.Key != "":
		mended, err = s.repairKey(ctx, tx, r)
	default:
		mended, err = s.repairGroup(ctx, tx, r.Group, now)
	}
	if err != nil || !mended {
		return false, nil, err
	}
	if _, err := tx.Exec(ctx, s.q.get("repair_tell")); err != nil {
		return false, nil, err
	}
	return true, told, tx.QueryRow(ctx, s.q.get("repair_hints")).Scan(&told)
}

// repairLimit counts the slots of a limit key.
func (s *Store) repairLimit(ctx context.Context, tx pgx.Tx, key string) (bool, error) {
	var says, is int64
	err := tx.QueryRow(ctx, s.q.get("repair_lock_limit"), key).Scan(&says)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return false, err
	}
	if err := tx.QueryRow(ctx, s.q.get("repair_slots"), key).Scan(&is); err != nil || is == says {
		return false, err
	}
	if _, err := tx.Exec(ctx, s.q.get("repair_limit"), key, is); err != nil {
		return false, err
	}
	_, err = tx.Exec(ctx, s.q.get("repair_no_limit"), key)
	return true, err
}

// repairKey takes a key from who may not hold it, and gives it to who must.
func (s *Store) repairKey(ctx context.Context, tx pgx.Tx, r store.Repair) (mended bool, err error) {
	if !r.Task.IsZero() { // it must not end while its key is looked at
		if _, err := tx.Exec(ctx, s.q.get("repair_lock_task"), r.Task.String()); err != nil {
			return false, err
		}
	}
	var holder string
	var timed bool
	err = tx.QueryRow(ctx, s.q.get("repair_lock_key"), r.Kind, r.Key).Scan(&holder, &timed)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
	case err != nil:
		return false, err
	default:
		if fits, err := s.mayHold(ctx, tx, r, holder, timed); err != nil || fits {
			return false, err
		}
		if _, err := tx.Exec(ctx, s.q.get("repair_drop_key"), r.Kind, r.Key); err != nil {
			return false, err
		}
		mended = true
	}
	if r.Task.IsZero() {
		return mended, nil
	}
	fits, err := s.mayHold(ctx, tx, r, r.Task.String(), false)
	if err != nil || !fits {
		return mended, err
	}
	tag, err := tx.Exec(ctx, s.q.get("repair_put_key"), r.Kind, r.Key, r.Task.String())
	return mended || tag.RowsAffected() > 0, err
}

// mayHold reports whether a task may hold a key, with or without a time.
func (s *Store) mayHold(ctx context.Context, tx pgx.Tx, r store.Repair, id string, timed bool) (bool, error) {
	var t store.Task
	err := tx.QueryRow(ctx, s.q.get("repair_holder"), id).Scan(&t.Kind, &t.Unique.Key, &t.Unique.For, &t.State, &t.Reason)
	if errors.Is(err, pgx.ErrNoRows) {
		return false, nil
	}
	var until time.Time
	if timed {
		until = time.Unix(1, 0) // some time: which one does not matter
	}
	return err == nil && t.Holds(r.Kind, r.Key, until), err
}

// repairGroup counts the members of a group, and closes it if nobody lives.
func (s *Store) repairGroup(ctx context.Context, tx pgx.Tx, id store.ID, now int64) (bool, error) {
	type counts struct{ total, done, failed, cancelled, members, living, ended, waiting int64 }
	var says, is counts
	var state store.GroupState
	err := tx.QueryRow(ctx, s.q.get("repair_lock_group"), id.String()).Scan(
		&says.total, &says.done, &says.failed, &says.cancelled, &says.members, &says.living, &says.ended, &says.waiting, &state)
	if errors.Is(err, pgx.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	var live int64
	err = tx.QueryRow(ctx, s.q.get("repair_members"), id.String()).Scan(
		&is.done, &is.failed, &is.cancelled, &live, &is.members, &is.living, &is.ended, &is.waiting)
	if err != nil {
		return false, err
	}
	is.done, is.failed, is.cancelled = max(is.done, says.done), max(is.failed, says.failed), max(is.cancelled, says.cancelled)
	is.total = is.done + is.failed + is.cancelled + live
	if is == says && (state != store.GroupOpen || live > 0) {
		return false, nil
	}
	_, err = tx.Exec(ctx, s.q.get("repair_group"), id.String(), is.total, is.done, is.failed, is.cancelled, is.members, is.living, is.ended, is.waiting)
	if err != nil {
		return false, err
	}
	_, err = tx.Exec(ctx, s.q.get("repair_settle"), id.String(), now)
	return true, err
}
