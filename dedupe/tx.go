package dedupe

import (
	"context"
	"errors"
)

// ErrNotCommitted is wrapped by the error of TxUnit.Commit if the commit has certainly not taken
// effect.
var ErrNotCommitted = errors.New("leat: not committed")

// TxStore keeps results in the database that handlers write to. It tries once
// and returns its error. Implementations are safe for concurrent use.
type TxStore interface {
	// Claim opens a transaction that alone may process id, 1 to 1,024 bytes. It does not wait for
	// another transaction that does so: the answer then is Busy, with Remaining if it is known.
	// Done comes with the result. Mismatch means that id was claimed with another fingerprint.
	//
	// The unit is non-nil exactly if the Status is Claimed and the error is nil. Otherwise no
	// transaction is open and no connection is held.
	Claim(ctx context.Context, id, fingerprint string) (TxUnit, Claim, error)
}

// TxUnit is an open transaction that processes one id. One goroutine uses
// it at a time.
type TxUnit interface {
	// Context returns a child of ctx that carries the transaction.
	Context(ctx context.Context) context.Context

	// Commit stores result in the transaction and ends it. After an error it may have taken
	// effect or not, unless the error wraps ErrNotCommitted.
	Commit(ctx context.Context, result []byte) error

	// Rollback ends the transaction, even if it returns an error.
	Rollback(ctx context.Context) error
}
