package admin

import (
	"errors"
	"fmt"
	"time"

	"github.com/leat-go/leat/outbox/driver"
)

// ChangeRequest asks to try records again (Outbox.Redrive), or to drop them (Outbox.Drop).
type ChangeRequest struct {
	By
	Selection

	// Group is the relay group that has set them aside.
	// Defaults to "default".
	Group string
	// Stop makes Redrive do the opposite: it parks the selected records that are being tried
	// again, whatever caused that, so that no more of them are sent. Later records of the key
	// wait. A record that a relay has in flight at that moment may be sent all the same; tried
	// again it is a repeat with the same id. ErrNotParked if a key or an id was named and none of
	// its records is being tried again. Drop ignores it.
	Stop bool
	// DryRun returns what would be changed, and changes nothing.
	DryRun bool
}

func (r *ChangeRequest) complete() error {
	if r.Stop && r.Dead {
		return fmt.Errorf("%w: Stop: what is dead is not tried again", ErrInvalidRequest)
	}
	group, err := complete(r.Group, map[string]string{})
	r.Group = group
	return errors.Join(r.By.complete(), completeSelection(&r.Selection), err)
}

// SkipHeadRequest asks to drop the first record of a key.
type SkipHeadRequest struct {
	By

	// Group is the relay group that has set the key aside.
	// Defaults to "default".
	Group string
	// Key is the key. Required.
	Key driver.Key
	// ID is the id of the record to skip. If it is no longer the key's first record, nothing is dropped and
	// the error wraps ErrNotFirst. Defaults to whichever record is first.
	ID string
	// DryRun returns what would be dropped, and changes nothing.
	DryRun bool
}

func (r *SkipHeadRequest) complete() error {
	if r.Key.Topic == "" || r.Key.Key == "" {
		return errors.Join(r.By.complete(), fmt.Errorf("%w: Key = %.200q: a key needs a topic and a key", ErrInvalidRequest, r.Key))
	}
	group, err := complete(r.Group, map[string]string{"Key.Topic": r.Key.Topic, "Key.Key": r.Key.Key, "ID": r.ID})
	r.Group = group
	return errors.Join(r.By.complete(), err)
}

// CheckFirst returns an error that wraps ErrNotFirst if r names a record other than id, the first
// of the key. Stores call it.
func (r *SkipHeadRequest) CheckFirst(id string) error {
	if r.ID == "" || r.ID == id {
		return nil
	}
	return fmt.Errorf("%w: ID = %.200q: the first of key %.200q of topic %.200q is %.200q", ErrNotFirst, r.ID, r.Key.Key, r.Key.Topic, id)
}

// Changed is the result of a request.
type Changed struct {
	// Count is the number of records, IDs are their ids, ascending in Seq.
	Count int
	IDs   []string
	// Unread is the number of messages that a group has not settled: after RemoveGroup and
	// SetTopics they are never sent. It does not include held records.
	Unread int64
	// Keys is the number of different keys of the records, not counting records without a key.
	Keys int
	// Oldest is when the first of them was set aside. It is zero if none was, and for delayed
	// messages and groups.
	Oldest time.Time

	keys map[driver.Key]bool
}

// Add counts a record and the time at which it was set aside, for implementations of Outbox. Its
// key is empty if it has none. It is not safe for concurrent use.
func (c *Changed) Add(id, topic, key string, since time.Time) {
	c.Count++
	c.IDs = append(c.IDs, id)
	if c.Oldest.IsZero() || since.Before(c.Oldest) {
		c.Oldest = since
	}
	if key == "" {
		return
	}
	if c.keys == nil {
		c.keys = make(map[driver.Key]bool)
	}
	c.keys[driver.Key{Topic: topic, Key: key}] = true
	c.Keys = len(c.keys)
}
