package sqlinbox

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/inbox/admin"
	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/inbox/internal/parkjson"
	"github.com/leat-go/leat/internal/sqldialect"
	"github.com/leat-go/leat/internal/sqlstore"
	"github.com/leat-go/leat/internal/storable"
	"github.com/leat-go/leat/internal/wait"
	outboxadmin "github.com/leat-go/leat/outbox/admin"
)

// pickedFor is how long a picked message is left alone. Until then its transaction has
// locked it, or the process that picked it has ended.
const pickedFor = 10 * time.Second

// lookTakes is approximately how long PickRedriven locks rows other than the one that it picks:
// MySQL and MariaDB also lock the end of the range that they search.
const lookTakes = 2 * time.Millisecond

// PickRedriven implements driver.Parker.
func (s *store) PickRedriven(ctx context.Context) (r driver.Redriven, ok bool, err error) {
	number, err := s.ready(ctx)
	if err != nil {
		return r, false, err
	}
	err = s.Change(ctx, func(tx *sql.Tx) error {
		var id, topic, name []byte
		var stored storedMessage
		err := tx.QueryRowContext(ctx, s.SQL["redrive_pick"], number).
			Scan(&r.No, &r.Attempt, &id, &topic, &name, &stored.uuid, &stored.payload, &stored.metadata, &stored.raw)
		if sqlstore.IsNoRows(err) {
			return nil
		}
		if stored.payload == nil { // from SQLite, which has no other empty payload
			stored.payload = []byte{}
		}
		if err == nil {
			r.Message, err = stored.message()
		}
		if err == nil {
			r.ID, r.Key, r.Attempt, ok = string(id), driver.Key{Topic: string(topic), Name: string(name)}, r.Attempt+1, true
			_, err = s.Exec(ctx, tx, "redrive_count", pickedFor.Microseconds(), r.No)
		}
		return err
	})
	return r, ok && err == nil, err
}

// storedMessage is the stored form of a parked message.
type storedMessage struct {
	uuid, payload, metadata, raw []byte
}

func (s storedMessage) message() (*message.Message, error) {
	msg := message.NewMessage(string(s.uuid), s.payload)
	var raw *string
	if s.raw != nil {
		text := string(s.raw)
		raw = &text
	}
	metadata, null, err := parkjson.DecodeMetadata(string(s.metadata), raw)
	if msg.Metadata = metadata; null {
		msg.Payload = nil
	}
	return msg, err
}

// ClaimRedriven implements driver.Parker. It tries again while only another PickRedriven has the
// row locked: giving up would cost an attempt, and the time for which a picked message is left
// alone.
func (s *store) ClaimRedriven(ctx context.Context, r driver.Redriven) (driver.Unit, bool, error) {
	number, err := s.ready(ctx)
	if err != nil {
		return nil, false, err
	}
	for {
		if u, ok, err := s.claimPicked(ctx, number, r); ok || err != nil {
			return u, ok, err
		}
		if picked, err := s.isPicked(ctx, r); err != nil || !picked {
			return nil, false, err
		}
		if err := wait.For(ctx, lookTakes); err != nil {
			return nil, false, err
		}
	}
}

// isPicked reports whether the message is unchanged since r was picked. If so, no other process
// is running it: that process would have counted another attempt first.
func (s *store) isPicked(ctx context.Context, r driver.Redriven) (picked bool, err error) {
	err = s.Query(ctx, func(q sqlstore.Querier) error {
		return q.QueryRowContext(ctx, s.SQL["redrive_picked"], r.No, r.Attempt).Scan(&picked)
	})
	return picked, err
}

// claimPicked makes one try. The deletion of the row is the claim: it commits with the effects.
func (s *store) claimPicked(ctx context.Context, number int64, r driver.Redriven) (driver.Unit, bool, error) {
	u, err := s.begin(ctx, s.isolation)
	if err != nil {
		return nil, false, err
	}
	var attempts int
	err = u.tx.QueryRowContext(ctx, s.SQL["redrive_claim"], r.No, r.Attempt).Scan(&attempts)
	if err == nil {
		_, err = s.Exec(ctx, u.tx, "parked_delete", r.No)
	}
	if err == nil {
		var no int64
		details, _ := json.Marshal(map[string]int{"attempts": attempts}) // a number
		no, err = s.note(ctx, u.tx, audited{
			number: number, action: "done", by: admin.By{Actor: s.consumer}, no: r.No, id: r.ID, key: r.Key, details: details,
		})
		u.proof = s.proof("audited", sqldialect.Int(no))
	}
	if err == nil {
		err = u.detach(ctx)
	}
	if err == nil {
		return u, true, nil
	}
	if sqlstore.IsNoRows(err) {
		return nil, false, u.Rollback(ctx)
	}
	return nil, false, s.Describe(u.fail(ctx, err))
}

// FinishRedriven implements driver.Parker.
func (s *store) FinishRedriven(ctx context.Context, r driver.Redriven) error {
	number, err := s.ready(ctx)
	if err != nil || r.Key.Name == "" {
		return err
	}
	return s.promoteAlone(ctx, number, s.key(r.Key))
}

func (s *store) promoteAlone(ctx context.Context, number int64, k key) error {
	return s.Change(ctx, func(tx *sql.Tx) error {
		if err := s.lockKey(ctx, tx, k); err != nil {
			return err
		}
		return s.promote(ctx, tx, number, k)
	})
}

// FailRedriven implements driver.Parker.
func (s *store) FailRedriven(ctx context.Context, r driver.Redriven, failed driver.RedriveFailure) error {
	return s.Change(ctx, func(tx *sql.Tx) error {
		var text []byte
		err := tx.QueryRowContext(ctx, s.SQL["redrive_get"], r.No, r.Attempt).Scan(&text)
		if sqlstore.IsNoRows(err) { // another process has it
			return nil
		}
		if err != nil {
			return err
		}
		errs, err := parkjson.DecodeErrors(string(text))
		if err != nil {
			return err
		}
		entries, err := parkjson.EncodeErrors(newest(append(errs, failed.AttemptError))...)
		if err != nil {
			return err
		}
		state, reason, group, back := admin.StateRedrive, any(nil), any(nil), 0
		if failed.Park {
			text := storable.Text(failed.Reason)
			state, reason, group = admin.StateParked, []byte(text), []byte(outboxadmin.Fingerprint(text))
		}
		if failed.Withdraw {
			back = 1
		}
		_, err = s.Exec(ctx, tx, "redrive_fail", string(state), reason, group, failed.Retry.Microseconds(), back, back, []byte(entries), r.No)
		return err
	})
}

// QueuedKeys implements driver.Parker.
func (s *store) QueuedKeys(ctx context.Context, limit int) (keys []driver.Key, all bool, err error) {
	number, err := s.ready(ctx)
	if err != nil {
		return nil, false, err
	}
	looked := 0
	err = s.QueryEach(ctx, func(scan sqlstore.Scanner) error {
		var topic, name []byte
		var n int
		err := scan(&topic, &name, &n)
		keys, looked = append(keys, driver.Key{Topic: string(topic), Name: string(name)}), looked+n
		return err
	}, s.SQL["queued_keys"], number, limit)
	return keys, looked < limit, err
}

// RecoverRedriven implements driver.Parker.
func (s *store) RecoverRedriven(ctx context.Context, within time.Duration) (n int, err error) {
	number, err := s.ready(ctx)
	if err == nil {
		_, err = s.Exec(ctx, s.DB, "redrive_hasten", number, max(within, 2*pickedFor).Microseconds())
	}
	if err != nil {
		return 0, err
	}
	var keys []driver.Key
	err = s.QueryEach(ctx, func(scan sqlstore.Scanner) error {
		var topic, name []byte
		err := scan(&topic, &name)
		keys = append(keys, driver.Key{Topic: string(topic), Name: string(name)})
		return err
	}, s.SQL["redrive_orphans"], number)
	for _, k := range keys {
		err = errors.Join(err, s.promoteAlone(ctx, number, s.key(k)))
	}
	return len(keys), err
}
