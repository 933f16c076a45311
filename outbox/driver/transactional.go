package driver

import (
	"context"
	"fmt"

	"github.com/leat-go/leat/outbox"
)

// TransactionalSink is a Sink that stores the relay's position in the same
// transaction of the destination as the records, so that a reader of committed
// records sees none twice (rule R12). It needs a Session that is Positioned.
type TransactionalSink interface {
	Sink

	// Fence ends every earlier incarnation of slot at the destination, once the slot's lease is
	// held, and returns the position that was stored last; nil if the slot has never stored one.
	// An error means that nothing may be sent.
	Fence(ctx context.Context, slot string) (position []byte, err error)

	// SendWith delivers all of records, which may be none, together with the position after them,
	// or nothing. It returns nil only if the destination has committed both. After a *PrefixError
	// nothing was committed, because of one record. After any other error the term is over, and
	// the next Fence shows whether they were committed.
	SendWith(ctx context.Context, slot string, records []outbox.Record, position []byte) error
}

// Positioned is a Session whose position the sink can store.
type Positioned interface {
	Session

	// SlotName names the group and the slot. It is passed to Fence and SendWith. It ends in a
	// slash and the slot's number from 0, as in "default/0".
	SlotName() string

	// Position returns the position at which the first n records of p are settled; for
	// an empty Page, before the first Read, that at which the session begins.
	Position(p Page, n int) ([]byte, error)

	// Seek moves the session to position, which an earlier session of the slot has returned,
	// before the first Read. A position behind the stored one is an error that wraps
	// ErrSourceUnusable. Only records in between count: the end of one window is not behind the
	// start of the next, because a session may look for more, and store that, without anything to
	// deliver.
	//
	// The position is nil if the sink has never stored one. If the slot has been read before,
	// that is an error that wraps ErrSourceUnusable: the sink has lost it, or the group was
	// relayed without it (Config.AdoptPosition).
	Seek(ctx context.Context, position []byte) error
}

// PrefixError is returned by TransactionalSink.SendWith when one record cannot be
// delivered. The records before it can be.
type PrefixError struct {
	// N is the place of the record at fault.
	N int
	// Err is its error, a *outbox.DeliveryError where the kind is known.
	Err error
}

// Error names the place and the error.
func (e *PrefixError) Error() string {
	return fmt.Sprintf("leat: record %d of the transaction cannot be delivered: %v", e.N, e.Err)
}

// Unwrap returns the error of the record.
func (e *PrefixError) Unwrap() error {
	return e.Err
}
