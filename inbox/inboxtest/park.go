package inboxtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/internal/fail"
	"github.com/leat-go/leat/internal/wait"
)

// parkChecks are about keys: later messages of a parked key wait.
func parkChecks() []Check {
	return []Check{
		{Name: "I1_FollowersAreStoredBehindAParkedMessage", run: failing(checkFollowers)},
		{Name: "I1_KeysLikeAParkedOneRun", run: failing(checkLikeKeys)},
		{Name: "I1_FollowerMeetsTheEndOfARedrive", run: failing(checkFollowerRace)},
		{Name: "I1_ParkedMessageKeepsItsBytes", run: failing(checkBytes)},
	}
}

// park parks the message called id of key.
func park(ctx context.Context, p inbox.Runner, id, key string) error {
	return wantDelivered(ctx, p, delivery(ctx, id, key), inbox.OutcomeParked, nil, func(context.Context) error {
		return inbox.Permanent(errHandler)
	})
}

// redriveUntil redrives key and runs redriven messages until done returns nil.
func redriveUntil(
	ctx context.Context, s FailureSubject, p redriver, key string,
	handle func(ctx context.Context, msg *message.Message) error, done func() error,
) error {
	if err := redrive(ctx, s, key); err != nil {
		return err
	}
	return whileRedriving(ctx, p, handle, func() error { return eventually(ctx, done) })
}

// whileRedriving runs work while p redrives.
func whileRedriving(
	ctx context.Context, p redriver, handle func(ctx context.Context, msg *message.Message) error, work func() error,
) error {
	running, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- p.RunRedrive(running, handle) }()
	err := work()
	cancel()
	return errors.Join(err, <-ended)
}

// eventually waits until done returns nil.
func eventually(ctx context.Context, done func() error) error {
	for {
		err := done()
		if err == nil {
			return nil
		}
		if ended := wait.For(ctx, millisecond); ended != nil {
			return errors.Join(err, ended)
		}
	}
}

func checkFollowers(ctx context.Context, s FailureSubject) {
	p := openFor(s, parking())
	err := park(ctx, p, "k1", "k")
	for _, id := range []string{"k2", "k3", "k2"} {
		want := inbox.OutcomeParked
		if id == "k2" && err == nil && len(must(parkedIDs(ctx, s))) == 3 {
			want = inbox.OutcomeDuplicate
		}
		err = errors.Join(err, wantDelivered(ctx, p, delivery(ctx, id, "k"), want, nil, writing(s, "never")))
	}
	var order []string
	fail.IfAny(err,
		wantDelivered(ctx, p, delivery(ctx, "other", "other"), inbox.OutcomeCommitted, nil, writing(s, "other")),
		wantParked(ctx, s, "k1", "k2", "k3"),
		redriveUntil(ctx, s, p, "k", func(ctx context.Context, msg *message.Message) error {
			order = append(order, msg.UUID)
			return s.Write(ctx, msg.UUID)
		}, func() error { return wantEffects(ctx, s, "other", "k1", "k2", "k3") }),
		eventually(ctx, func() error { return wantParked(ctx, s) }),
		wantOrder(order, "k1", "k2", "k3"),
		wantDelivered(ctx, p, delivery(ctx, "k4", "k"), inbox.OutcomeCommitted, nil, writing(s, "k4")),
	)
}

func must(ids []string, _ error) []string { return ids }

func wantOrder(got []string, want ...string) error {
	if !slices.Equal(got, want) {
		return fmt.Errorf("ran in the order %q, want %q", got, want)
	}
	return nil
}

// checkFollowerRace delivers the messages of a key, one after another, while its
// first ones are redriven: each takes effect once, in order, and none is left.
func checkFollowerRace(ctx context.Context, s FailureSubject) {
	const rounds, followers = 5, 6
	first, second := openFor(s, parking()), openFor(s, parking())
	var (
		mu    sync.Mutex
		order = map[string][]string{}
		want  []string
	)
	handle := func(key, id string) func(ctx context.Context) error {
		return func(ctx context.Context) error {
			mu.Lock()
			order[key] = append(order[key], id)
			mu.Unlock()
			return s.Write(ctx, id)
		}
	}
	redriven := func(ctx context.Context, msg *message.Message) error {
		return handle(msg.Metadata.Get("leat_key"), msg.UUID)(ctx)
	}
	err := whileRedriving(ctx, first, redriven, func() error {
		return whileRedriving(ctx, second, redriven, func() error {
			for r := range rounds {
				key := "k" + strconv.Itoa(r)
				if err := park(ctx, second, key+"-0", key); err != nil {
					return err
				}
				want = append(want, key+"-0")
				if err := redrive(ctx, s, key); err != nil {
					return err
				}
				for i := range followers {
					id := key + "-" + strconv.Itoa(i+1)
					want = append(want, id)
					if err := untilAckedKeyed(ctx, second, id, key, handle(key, id)); err != nil {
						return err
					}
				}
			}
			return eventually(ctx, func() error {
				return errors.Join(wantParked(ctx, s), wantEffects(ctx, s, slices.Clone(want)...))
			})
		})
	})
	for key, ids := range order {
		if !slices.IsSorted(ids) {
			err = errors.Join(err, fmt.Errorf("key %s ran in the order %q", key, ids))
		}
	}
	fail.If(err)
}

func untilAckedKeyed(ctx context.Context, p inbox.Runner, id, key string, handle func(ctx context.Context) error) error {
	return eventually(ctx, func() error {
		_, err := deliver(ctx, p, delivery(ctx, id, key), handle)
		return err
	})
}

// checkBytes parks a message of odd bytes: NUL, quotes, and what is not UTF-8.
func checkBytes(ctx context.Context, s FailureSubject) {
	p := openFor(s, parking())
	const odd = "a\x00\xff'\"\\{}"
	sent := message.NewMessageWithContext(ctx, odd, []byte(odd))
	sent.Metadata = message.Metadata{"leat_key": odd, odd: odd, "empty": "", "plain": "ä"}
	fail.If(wantDelivered(ctx, p, sent, inbox.OutcomeParked, nil, func(context.Context) error {
		return inbox.Permanent(errors.New(odd))
	}))
	var got *message.Message
	err := redriveUntil(ctx, s, p, odd, func(_ context.Context, msg *message.Message) error {
		got = msg
		return nil
	}, func() error { return wantParked(ctx, s) })
	if err == nil && !got.Equals(sent) {
		err = fmt.Errorf("redriven was %q %q %q", got.UUID, got.Payload, got.Metadata)
	}
	fail.If(err)
}
