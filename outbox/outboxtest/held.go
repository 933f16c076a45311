package outboxtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/leat-go/leat/internal/fail"
	"github.com/leat-go/leat/internal/wait"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/driver"
)

func heldChecks() []Check {
	return unless(
		noHolder,
		Check{Name: "O2_HoldStoresThePosition", run: holdStoresThePosition},
		Check{Name: "O2_HoldTwiceIsHoldOnce", run: holdTwiceIsHoldOnce},
		Check{Name: "O4_HeldCopiesAreIdentical", run: heldCopiesAreIdentical},
		Check{Name: "O6_FollowersWait", run: followersWait},
		Check{Name: "O6_RetryWaitsItsTime", run: retryWaitsItsTime},
		Check{Name: "O6_KeysAreBytes", run: keysAreBytes},
		Check{Name: "O8_TopicsThatAreOutAreNotDue", run: topicsThatAreOutAreNotDue},
		Check{Name: "O9_StaleEpochHoldsNothing", run: staleEpochHoldsNothing},
		Check{Name: "O9_StaleEpochResolvesNothing", run: staleEpochResolvesNothing},
		Check{Name: "O14_DueIsBoundedInBytes", run: dueIsBoundedInBytes},
		Check{Name: "O14_RenewWaitsForNoRead", run: renewWaitsForNoRead},
		Check{Name: "O14_RetryAfterClockSetBack", run: retryAfterClockSetBack},
	)
}

func noHolder(f Features) bool { return f.NoHolder }

// holdStoresThePosition holds a part of a page; the next session, after a crash,
// reads the rest and only that.
func holdStoresThePosition(ctx context.Context, tr *trial) {
	tr.commit(ctx, append(keyed("k", "a"), named("b", "c", "d")...)...)
	s := tr.holder(ctx)
	p := s.reader.expectPage(ctx, 10, "a", "b", "c", "d")
	fail.If(s.Hold(ctx, p, 2, []driver.Holding{{Index: 0, Fate: driver.FatePark}}))
	s = tr.next(ctx, s)
	fail.In("after a hold of two records and a crash", func() { s.reader.expectDrain(ctx, 10, "c", "d") })
	s.expectHeld(ctx, testKey("k"))
	s.expectParked(ctx, "a")
}

// holdTwiceIsHoldOnce repeats a call as after a lost answer, before and after the held records
// were resolved.
func holdTwiceIsHoldOnce(ctx context.Context, tr *trial) {
	tr.commit(ctx, append(keyed("k", "a", "b"), named("c", "d", "e")...)...)
	s := tr.holder(ctx)
	p := s.reader.expectPage(ctx, 10, "a", "b", "c", "d", "e")
	h := holdings(p, map[string]driver.Holding{
		"a": {Fate: driver.FateRetry, Attempts: failed(2)}, "b": {Fate: driver.FateWait},
		"c": {Fate: driver.FateDead}, "d": {Fate: driver.FateSkip},
	})
	for range 2 {
		fail.If(s.Hold(ctx, p, 5, h), "hold")
	}
	due := s.expectDue(ctx, "a", "b")
	if due[0].Attempts != 2 {
		fail.With("held twice with 2 attempts: %d attempts", due[0].Attempts)
	}
	s.deliver(ctx, due, testKey("k"))
	fail.If(s.Hold(ctx, p, 5, h), "hold")
	fail.In("held again after it was delivered", func() { s.expectDue(ctx) })
	s.expectDead(ctx, "c")
	s.reader.expectDrain(ctx, 10)
}

func heldCopiesAreIdentical(ctx context.Context, tr *trial) {
	want := tricky()
	tr.commit(ctx, want...)
	s := tr.holder(ctx)
	p := s.reader.page(ctx, 100)
	original := slices.Clone(p.Records)
	var all []driver.Holding
	for i := range p.Records {
		all = append(all, driver.Holding{Index: i, Fate: driver.FateRetry})
	}
	fail.If(s.Hold(ctx, p, len(p.Records), all), "hold")
	s = tr.next(ctx, s)
	due, err := s.Due(ctx, 100, nil)
	fail.If(err)
	got := recordsOf(due)
	sameAsEnqueued(got, want)
	for i := range got {
		fail.If(sameRecord(&original[i], &got[i]), fmt.Sprintf("record %q: the log's copy and the held one differ", got[i].ID))
	}
}

// followersWait holds a key behind its first record, delivers that, and then the rest; other keys
// are not affected.
func followersWait(ctx context.Context, tr *trial) {
	tr.commit(ctx, append(keyed("k", "a", "b", "c"), keyed("l", "x")...)...)
	s := tr.holder(ctx)
	s.hold(ctx, map[string]driver.Holding{
		"a": {Fate: driver.FateRetry}, "b": {Fate: driver.FateWait}, "c": {Fate: driver.FateWait},
	}, "a", "b", "c", "x")
	s.expectHeld(ctx, testKey("k"))
	due := s.expectDue(ctx, "a", "b", "c")
	short, err := s.Due(ctx, 2, nil)
	fail.In("due, at most two", func() {
		fail.If(err)
		expect(recordsOf(short), "a", "b")
	})
	fail.In("the first of three delivered", func() { s.deliver(ctx, due[:1]) })
	s = tr.next(ctx, s)
	fail.In("the first of three delivered", func() { due = s.expectDue(ctx, "b", "c") })
	s.deliver(ctx, due, testKey("k"))
	s.expectHeld(ctx)
	s.reader.expectDrain(ctx, 10)
}

func retryWaitsItsTime(ctx context.Context, tr *trial) {
	tr.commit(ctx, append(keyed("k", "a", "b"), keyed("l", "c")...)...)
	s := tr.holder(ctx)
	s.hold(ctx, map[string]driver.Holding{
		"a": {Fate: driver.FateRetry, Attempts: failed(2), RetryIn: time.Hour},
		"b": {Fate: driver.FateWait},
		"c": {Fate: driver.FateRetry, Attempts: failed(2)},
	}, "a", "b", "c")
	var due []driver.Held
	fail.In("one is to be tried in an hour, with one behind it", func() { due = s.expectDue(ctx, "c") })
	if due[0].Attempts != 2 {
		fail.With("due: %d attempts, want 2", due[0].Attempts)
	}
	s.resolve(ctx, due, []driver.Verdict{{Fate: driver.FateRetry, Attempts: failed(1), RetryIn: 50 * time.Millisecond}})
	for {
		due, err := s.Due(ctx, 10, nil)
		fail.If(err, "to be tried in 50 ms")
		if len(due) > 0 {
			if due[0].Attempts != 3 {
				fail.With("due: %d attempts, want 2 and 1", due[0].Attempts)
			}
			expect(recordsOf(due), "c")
			return
		}
		_ = wait.For(ctx, 5*time.Millisecond) // the next round sees the error
	}
}

// retryAfterClockSetBack sets records aside by a clock that is ahead. The next session hastens what is not due within its
// longest backoff, and nothing else.
func retryAfterClockSetBack(ctx context.Context, tr *trial) {
	setter, ok := tr.Subject.(ClockSetter)
	if !ok {
		return
	}
	tr.commit(ctx, append(keyed("k", "a", "b"), keyed("l", "c")...)...)
	s := tr.holder(ctx)
	s.hold(ctx, map[string]driver.Holding{
		"a": {Fate: driver.FateRetry, Attempts: failed(2), RetryIn: time.Minute},
		"b": {Fate: driver.FateWait},
		"c": {Fate: driver.FateRetry, Attempts: failed(2)},
	}, "a", "b", "c")
	fail.If(setter.SetClockBack(ctx, time.Hour), "set the clock back")
	s = tr.asHolder(tr.acquire(ctx))
	fail.If(s.Hasten(ctx, 2*time.Hour), "hasten")
	fail.In("what is due within two hours", func() { s.expectDue(ctx) })
	fail.If(s.Hasten(ctx, 2*time.Minute), "hasten")
	fail.In("hastened", func() { s.expectDue(ctx, "a", "b", "c") })
}

// topicsThatAreOutAreNotDue holds records of two topics.
func topicsThatAreOutAreNotDue(ctx context.Context, tr *trial) {
	other := outbox.Message{Topic: "other", Key: "k", Payload: []byte("o")}
	tr.commit(ctx, append(keyed("k", "a", "b"), other)...)
	s := tr.holder(ctx)
	s.hold(ctx, map[string]driver.Holding{
		"a": {Fate: driver.FateRetry}, "b": {Fate: driver.FateWait}, "o": {Fate: driver.FateRetry},
	}, "a", "b", "o")
	s.expectDueExcept(ctx, []string{testTopic, "third"}, "o")
	due := s.expectDue(ctx, "a", "b", "o")
	if due[0].Attempts != 0 {
		fail.With("due: %d attempts of an outage, want 0", due[0].Attempts)
	}
	s.expectHeld(ctx, testKey("k"), driver.Key{Topic: "other", Key: "k"})
}

func staleEpochHoldsNothing(ctx context.Context, tr *trial) {
	tr.commit(ctx, append(keyed("k", "a", "b"), named("c")...)...)
	s := tr.holder(ctx)
	p := s.reader.expectPage(ctx, 10, "a", "b", "c")
	next := tr.next(ctx, s)
	h := holdings(p, map[string]driver.Holding{"a": {Fate: driver.FatePark}, "b": {Fate: driver.FateWait}, "c": {Fate: driver.FateDead}})
	expectError("hold under a lost lease", s.Hold(ctx, p, 3, h), driver.ErrLeaseLost)
	fail.In("after a hold under a lost lease", func() {
		next.expectParked(ctx)
		next.expectDead(ctx)
	})
	next.reader.expectDrain(ctx, 10, "a", "b", "c")
}

func staleEpochResolvesNothing(ctx context.Context, tr *trial) {
	tr.commit(ctx, keyed("k", "a", "b")...)
	s := tr.holder(ctx)
	s.hold(ctx, map[string]driver.Holding{"a": {Fate: driver.FateRetry}, "b": {Fate: driver.FateWait}}, "a", "b")
	due := s.expectDue(ctx, "a", "b")
	next := tr.next(ctx, s)
	for _, fate := range []driver.Fate{driver.FatePark, driver.FateDead, driver.FateSkip, driver.FateDelivered, driver.FateRetry} {
		v := driver.Verdict{Record: &due[0].Record, Fate: fate, Attempts: failed(1), RetryIn: time.Hour}
		_, err := s.Resolve(ctx, []driver.Verdict{v})
		expectError("resolve under a lost lease as "+fate.String(), err, driver.ErrLeaseLost)
	}
	fail.In("after a resolve under a lost lease", func() { due = next.expectDue(ctx, "a", "b") })
	if due[0].Attempts != 0 {
		fail.With("after a resolve under a lost lease: %d attempts, want 0", due[0].Attempts)
	}
}

// keysAreBytes parks one of several keys that a collation could consider equal. Records of the
// others have nothing to wait for.
func keysAreBytes(ctx context.Context, tr *trial) {
	others := likeK()
	tr.commit(ctx, keyed("k", "parked")...)
	fates := map[string]driver.Holding{"parked": {Fate: driver.FatePark}}
	for _, key := range others {
		tr.commit(ctx, keyed(key, "of "+key)...)
		fates["of "+key] = driver.Holding{Fate: driver.FateWait}
	}
	s := tr.holder(ctx)
	names, keys := []string{"parked"}, []driver.Key{testKey("k")}
	for _, key := range others {
		names, keys = append(names, "of "+key), append(keys, testKey(key))
	}
	s.hold(ctx, fates, names...)
	var due []driver.Held
	fail.In("keys that are not the parked one", func() { due = s.expectDue(ctx, names[1:]...) })
	delivered := make([]driver.Verdict, len(due))
	for i := range delivered {
		delivered[i].Fate = driver.FateDelivered
	}
	s.resolve(ctx, due, delivered, keys[1:]...)
	s.expectHeld(ctx, keys[0])
}

// dueIsBoundedInBytes holds three times what one call of Due may return, and delivers
// all of it while the lease is being renewed.
func dueIsBoundedInBytes(ctx context.Context, tr *trial) {
	s, want := tr.holdLarge(ctx)
	stop := s.reader.keepRenewing(ctx)
	var got []int64
	err := fail.Caught(func() { got = s.deliverDue(ctx, tr.features.DueBytes) })
	fail.IfAny(err, stop())
	slices.Sort(got)
	if !slices.Equal(got, want) {
		fail.With("due: records %v, want %v", got, want)
	}
	s.reader.expectDrain(ctx, 10)
}

// holdLarge holds records of about a megabyte, all of them due, and returns their numbers.
func (tr *trial) holdLarge(ctx context.Context) (s *setAside, held []int64) {
	size := min(1<<20, tr.features.MaxPayloadBytes)
	msgs := make([]outbox.Message, 3*tr.features.DueBytes/size+1)
	for i := range msgs {
		msgs[i] = outbox.Message{Topic: testTopic, Payload: slices.Repeat([]byte(strconv.Itoa(i%10)), size)}
	}
	for i := range msgs { // a transaction may have a limit below the size of all of them
		tr.commit(ctx, msgs[i])
	}
	s = tr.holder(ctx)
	for len(held) < len(msgs) {
		p := s.reader.page(ctx, len(msgs))
		if len(p.Records) == 0 {
			fail.With("read: %d records of %d", len(held), len(msgs))
		}
		all := make([]driver.Holding, len(p.Records))
		for i := range p.Records {
			all[i] = driver.Holding{Index: i, Fate: driver.FateRetry}
			held = append(held, p.Records[i].Seq)
		}
		fail.If(s.Hold(ctx, p, len(all), all), "hold")
	}
	return s, held
}

// deliverDue delivers what is due until nothing is, and returns the numbers. Only the
// last record of a call may pass bound.
func (s *setAside) deliverDue(ctx context.Context, bound int) (seqs []int64) {
	for {
		due, err := s.Due(ctx, 100, nil)
		fail.If(err, "due")
		if len(due) == 0 || len(seqs) > mostRecords {
			return seqs
		}
		bytes := 0
		for i := range due {
			if bytes >= bound {
				fail.With("due: %d records, the first %d of which have %d bytes", len(due), i, bytes)
			}
			bytes += len(due[i].Payload)
			seqs = append(seqs, due[i].Seq)
		}
		s.deliver(ctx, due)
	}
}

// renewWaitsForNoRead renews the lease while a read of held records waits.
func renewWaitsForNoRead(ctx context.Context, tr *trial) {
	blocker, ok := tr.Subject.(ReadBlocker)
	if !ok {
		return
	}
	s := tr.holder(ctx)
	for _, c := range []struct {
		what string
		read func() error
	}{
		{"Due", func() error { _, err := s.Due(ctx, 1, nil); return err }},
		{"HeldKeys", func() error { _, err := s.HeldKeys(ctx); return err }},
		{"CountHeld", func() error { _, err := s.CountHeld(ctx); return err }},
	} {
		fail.In("while "+c.what+" waits", func() { s.renewDuring(ctx, blocker, c.read) })
	}
}

func (s *setAside) renewDuring(ctx context.Context, blocker ReadBlocker, read func() error) {
	waits, release, err := blocker.BlockHeld(ctx)
	fail.If(err, "block reads of held records")
	ended := make(chan error, 1)
	go func() { ended <- read() }()
	if err = waits(ctx); err == nil {
		err = s.reader.renewInTime(ctx)
	}
	release()
	fail.IfAny(err, <-ended)
}

var (
	errNoAdmin  = errors.New("the subject is not an admin.Outbox; say Features.NoHolder")
	errNoError  = errors.New("no error")
	errNoHolder = errors.New("the session is not a driver.Holder; say Features.NoHolder")
)

// setAside is a session that sets records aside, with an operator's view of it.
type setAside struct {
	driver.Holder

	reader *reader
	op     operator
}

// holder starts a session of testGroup that can set records aside.
func (tr *trial) holder(ctx context.Context) *setAside {
	return tr.asHolder(tr.acquire(ctx))
}

func (tr *trial) asHolder(r *reader) *setAside {
	op := tr.operator()
	h, ok := r.Session.(driver.Holder)
	if !ok {
		fail.Now(errNoHolder)
	}
	return &setAside{Holder: h, reader: r, op: op}
}

// next is a session that takes over after the lease has expired.
func (tr *trial) next(ctx context.Context, old *setAside) *setAside {
	return tr.asHolder(tr.takeOver(ctx, old.reader))
}

// hold reads one page, which must contain exactly these records, and gives each its fate; those
// that are Delivered were acknowledged.
func (s *setAside) hold(ctx context.Context, fates map[string]driver.Holding, names ...string) {
	p := s.reader.expectPage(ctx, len(names)+1, names...)
	if p.Early { // it cannot be held: a relay withdraws it
		tailed := s.reader.Session.(driver.Tailed)
		tailed.Withdraw(p, nil)
		tailed.Follow(false)
		p = s.reader.expectPage(ctx, len(names)+1, names...)
	}
	fail.If(s.Hold(ctx, p, len(p.Records), holdings(p, fates)), "hold")
}

// holdings are the fates of the records of p, by their names.
func holdings(p driver.Page, fates map[string]driver.Holding) []driver.Holding {
	var all []driver.Holding
	for i := range p.Records {
		if h, ok := fates[string(p.Records[i].Payload)]; ok {
			h.Index = i
			all = append(all, h)
		}
	}
	return all
}

// expectDue expects that exactly these records are due, in this order.
func (s *setAside) expectDue(ctx context.Context, names ...string) []driver.Held {
	return s.expectDueExcept(ctx, nil, names...)
}

func (s *setAside) expectDueExcept(ctx context.Context, except []string, names ...string) []driver.Held {
	due, err := s.Due(ctx, 100, except)
	fail.If(err, "due")
	fail.In("due", func() { expect(recordsOf(due), names...) })
	return due
}

func recordsOf(due []driver.Held) []outbox.Record {
	records := make([]outbox.Record, len(due))
	for i := range due {
		records[i] = due[i].Record
	}
	return records
}

// resolve gives the first of due their fates, in order, and expects these keys to have no held
// record afterwards.
func (s *setAside) resolve(ctx context.Context, due []driver.Held, fates []driver.Verdict, free ...driver.Key) {
	for i := range fates {
		fates[i].Record = &due[i].Record
	}
	got, err := s.Resolve(ctx, fates)
	fail.If(err, "resolve")
	if !sameKeys(got, free) {
		fail.With("resolve: keys %v are free, want %v", got, free)
	}
}

// sameKeys compares two sets of keys without repetitions.
func sameKeys(a, b []driver.Key) bool {
	return len(a) == len(b) && !slices.ContainsFunc(b, func(k driver.Key) bool { return !slices.Contains(a, k) })
}

// deliver resolves all of due as delivered.
func (s *setAside) deliver(ctx context.Context, due []driver.Held, free ...driver.Key) {
	fates := make([]driver.Verdict, len(due))
	for i := range fates {
		fates[i].Fate = driver.FateDelivered
	}
	s.resolve(ctx, due, fates, free...)
}

// expectHeld expects these to be the keys that have held records.
func (s *setAside) expectHeld(ctx context.Context, keys ...driver.Key) {
	got, err := s.HeldKeys(ctx)
	fail.If(err, "held keys")
	if !sameKeys(got, keys) {
		fail.With("held keys: %v, want %v", got, keys)
	}
}

// expectParked expects these records to be parked, or to wait behind one.
func (s *setAside) expectParked(ctx context.Context, names ...string) []admin.HeldRecord {
	return expectAside(ctx, "parked", s.op.parked, names)
}

// expectDead expects these records to be set aside for good.
func (s *setAside) expectDead(ctx context.Context, names ...string) []admin.HeldRecord {
	return expectAside(ctx, "dead", s.op.Dead, names)
}

func testKey(key string) driver.Key {
	return driver.Key{Topic: testTopic, Key: key}
}

func failed(times int) []driver.Attempt {
	all := make([]driver.Attempt, times)
	for i := range all {
		all[i] = driver.Attempt{Kind: outbox.FailureUnknown, Error: fmt.Sprintf("error %d", i+1)}
	}
	return all
}
