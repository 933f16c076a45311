package sqlinbox

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/leat-go/leat/inbox/admin"
	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/inbox/internal/parkjson"
	"github.com/leat-go/leat/internal/failpoint"
	"github.com/leat-go/leat/internal/sqlstore"
	"github.com/leat-go/leat/internal/storable"
	outboxadmin "github.com/leat-go/leat/outbox/admin"
)

// Park implements driver.Parker.
func (s *store) Park(ctx context.Context, req driver.ParkRequest) (driver.Status, error) {
	claimed, status, err := s.claim(ctx, sql.LevelReadCommitted, req.ID)
	switch {
	case req.Behind && errors.Is(err, driver.ErrTooOld):
		return driver.NotBehind, nil // its id cannot be recorded: it is refused, and parked as such
	case err != nil:
		return 0, err
	case status == driver.Duplicate:
		return driver.Duplicate, nil
	case claimed == nil:
		return driver.Busy, nil
	}
	stored, err := s.parkIn(ctx, Tx(claimed.Context(ctx)), req)
	if err != nil || !stored {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanUpTimeout)
		defer cancel()
		return driver.NotBehind, s.Describe(errors.Join(err, claimed.Rollback(ctx)))
	}
	if err := claimed.Commit(ctx); err != nil {
		return 0, err
	}
	return driver.Claimed, failpoint.Inject(ctx, failpoint.ConsumerCommitAmbiguous)
}

// cleanUpTimeout bounds work that must be done even if the caller's context has ended.
const cleanUpTimeout = 5 * time.Second

// parkIn stores the message in the transaction that has claimed it, unless it must follow a
// message that is not there any more. Under the key's lock, either a redrive of the key will
// reach this message, or it has already finished the key.
func (s *store) parkIn(ctx context.Context, tx *sql.Tx, req driver.ParkRequest) (bool, error) {
	number, k, follows := s.number.Load(), s.key(req.Key), false
	err := s.lockKey(ctx, tx, k)
	if err == nil {
		err = s.isKeyParked(ctx, tx, number, k, &follows)
	}
	if err != nil || req.Behind && !follows {
		return false, err
	}
	state := admin.StateParked
	if follows {
		state = admin.StateWait
	}
	h := req.History
	errs, err1 := parkjson.EncodeErrors(h.Errors...)
	metadata, raw, err2 := parkjson.EncodeMetadata(req.Message)
	if err := errors.Join(err1, err2); err != nil {
		return false, err
	}
	reason := storable.Text(req.Reason)
	result, err := tx.ExecContext(ctx, s.SQL["park"], number, string(state), h.Attempts, micros(h.First), micros(h.Last),
		[]byte(errs), []byte(reason), []byte(outboxadmin.Fingerprint(reason)), []byte(req.MessageID), k.topic, k.hash, k.name,
		[]byte(req.Message.UUID), sqlstore.Bytes(req.Message.Payload), []byte(metadata), bytesOrNull(raw))
	if err != nil {
		return false, err
	}
	_, err = sqlstore.Written(ctx, tx, s.SQL.List("attempt_forget", 1), number, s.row(req.ID).id)
	if err != nil || req.Reason == "" {
		return true, err
	}
	no, err := result.LastInsertId()
	if err == nil {
		_, err = s.note(ctx, tx, audited{
			number: number, action: "park", by: admin.By{Actor: s.consumer, Reason: reason},
			no: no, id: req.MessageID, key: req.Key,
		})
	}
	return true, err
}

// audited is an entry of the audit.
type audited struct {
	number  int64
	action  string
	by      admin.By
	no      int64
	id      string
	key     driver.Key
	details []byte // JSON, or nil
}

// note adds an entry to the audit, with the details of the actor, and returns its number.
func (t *tables) note(ctx context.Context, tx *sql.Tx, e audited) (int64, error) {
	var details any
	if annotated := e.by.Annotate(e.details); annotated != nil {
		details = []byte(annotated)
	}
	result, err := tx.ExecContext(ctx, t.SQL["audit"], e.number, e.action, []byte(e.by.Actor), []byte(e.by.Reason), e.no,
		[]byte(e.id), []byte(e.key.Topic), []byte(e.key.Name), details)
	if err != nil {
		return 0, err
	}
	return result.LastInsertId()
}

// micros returns the stored form of a time, nil for none.
func micros(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UnixMicro()
}

func bytesOrNull(text *string) any {
	if text == nil {
		return nil
	}
	return []byte(*text)
}
