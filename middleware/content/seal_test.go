package content_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/meminbox"
	"github.com/leat-go/leat/middleware/content"
	"github.com/leat-go/leat/outbox"
)

const secret = "Ada Lovelace, 12 St James's Square"

// personal is a message that says something about a person.
func personal(id string) outbox.Message {
	return outbox.Message{
		ID: id, Topic: "customers", Key: "ada", Type: "shop.Moved", Payload: []byte(`{"address":"` + secret + `"}`),
		Headers: map[string]string{"content-type": "application/json", "event-version": "2", "trace": "t-1"},
	}
}

// TestC26_KeysHaveNames: C26. The header names the key, so that old ones go on opening.
func TestC26_KeysHaveNames(t *testing.T) {
	t.Parallel()
	keys := newKeys()
	c := newContent(t, content.Config{Seal: &content.Seal{Keys: keys}})
	m := personal("1")
	old := encode(t, c, m)
	require.Equal(t, map[string]string{"content-type": "application/json", "event-version": "2", "trace": "t-1", "content-key": "ada/0"}, old.Headers)
	require.NotContains(t, string(old.Payload), "Ada")
	require.Equal(t, personal("1"), m, "the caller's message is as it was")
	keys.rotate()
	young := encode(t, c, personal("2"))
	require.Equal(t, "ada/1", young.Headers["content-key"])
	for _, m := range []outbox.Message{old, young} {
		payload, err := open(t, c, deliver(t, m))
		require.NoError(t, err)
		require.Equal(t, string(personal("").Payload), string(payload))
	}
	id := encode(t, c, personal("")).ID
	require.NotEmpty(t, id, "the id is part of the seal")
}

// TestC26_UnsealedIsRefused: C26. Who can write to the topic cannot do without the key.
func TestC26_UnsealedIsRefused(t *testing.T) {
	t.Parallel()
	c := newContent(t, content.Config{Seal: &content.Seal{Keys: newKeys()}})
	_, err := open(t, c, deliver(t, personal("1")))
	require.ErrorContains(t, err, `message "1" is not sealed, and must be`)
	require.True(t, inbox.IsPermanent(err))

	// The other way round it is a matter of the deployment: another process may have keys.
	plain := newContent(t, content.Config{Claim: &content.Claim{Blobs: newBlobs()}})
	sealed := deliver(t, encode(t, c, personal("1")))
	_, err = open(t, plain, sealed)
	require.ErrorContains(t, err, `is sealed by key "ada/0", and its keyring is not set`)
	require.False(t, inbox.IsPermanent(err))
	first, _, _ := marshalers(t)
	err = first.Unmarshal(sealed, &placed1{})
	require.ErrorContains(t, err, "use Content.Middleware")
	require.False(t, inbox.IsPermanent(err))
}

// TestC25_WhatASealIsBoundTo: C25. Each change, and a swap of two payloads, is refused.
func TestC25_WhatASealIsBoundTo(t *testing.T) {
	t.Parallel()
	keys := newKeys()
	c := newContent(t, content.Config{Seal: &content.Seal{Keys: keys}})
	other := encode(t, c, outbox.Message{ID: "2", Key: "bob", Topic: "customers", Type: "shop.Moved", Payload: []byte("{}")})
	for name, change := range map[string]func(msg *message.Message){
		"id":           func(msg *message.Message) { msg.UUID = "2" },
		"type":         func(msg *message.Message) { msg.Metadata.Set("event-type", "shop.Died") },
		"no type":      func(msg *message.Message) { delete(msg.Metadata, "event-type") },
		"version":      func(msg *message.Message) { msg.Metadata.Set("event-version", "3") },
		"no version":   func(msg *message.Message) { delete(msg.Metadata, "event-version") },
		"content type": func(msg *message.Message) { msg.Metadata.Set("content-type", "text/plain") },
		"key":          func(msg *message.Message) { msg.Metadata.Set("content-key", "bob/0") },
		"swap":         func(msg *message.Message) { msg.Payload = other.Payload },
		"a bit":        func(msg *message.Message) { msg.Payload[20] ^= 1 },
		"cut":          func(msg *message.Message) { msg.Payload = msg.Payload[:len(msg.Payload)-1] },
		"empty":        func(msg *message.Message) { msg.Payload = nil },
		"fields run into each other": func(msg *message.Message) {
			msg.UUID, msg.Metadata["event-type"] = "1s", "hop.Moved"
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			msg := deliver(t, encode(t, c, personal("1")))
			msg.Payload = append([]byte(nil), msg.Payload...)
			change(msg)
			before := msg.Copy()
			_, err := open(t, c, msg)
			require.ErrorContains(t, err, "cannot be opened by key")
			require.True(t, inbox.IsPermanent(err))
			require.True(t, before.Equals(msg))
		})
	}

	// What replays, dead letters and subscribers change.
	msg := deliver(t, encode(t, c, personal("1")))
	delete(msg.Metadata, outbox.HeaderKey)
	msg.Metadata.Set("further", "header")
	_, err := open(t, c, msg)
	require.NoError(t, err)
}

// unbound is an AEAD that leaves out what the payload is bound to.
type unbound struct{ content.AEAD }

func (u unbound) Encrypt(plaintext, _ []byte) ([]byte, error) { return u.AEAD.Encrypt(plaintext, nil) }

func (u unbound) Decrypt(ciphertext, _ []byte) ([]byte, error) {
	return u.AEAD.Decrypt(ciphertext, nil)
}

// TestC25_CatchesAnUnboundSeal is the control: without it a swap goes unnoticed.
func TestC25_CatchesAnUnboundSeal(t *testing.T) {
	t.Parallel()
	keys := newKeys()
	keys.byName["ada/0"] = unbound{newKey()}
	c := newContent(t, content.Config{Seal: &content.Seal{Keys: keys}})
	one, two := encode(t, c, personal("1")), encode(t, c, personal("2"))
	two.Payload = one.Payload
	_, err := open(t, c, deliver(t, two))
	require.NoError(t, err)
}

// quoting are errors as handlers have them: their texts quote the payload.
func quoting(payload []byte) map[string]error {
	var number struct{ Address int }
	unmarshal := json.Unmarshal(payload, &number)
	return map[string]error{
		"plain":     fmt.Errorf("insert %s: duplicate", payload),
		"wrapped":   fmt.Errorf("decode %q: %w", payload, unmarshal),
		"joined":    errors.Join(errors.New(string(payload)), unmarshal),
		"permanent": inbox.Permanent(fmt.Errorf("decode %q: %w", payload, unmarshal)),
	}
}

// TestC27_ErrorsQuoteNothing: C27. What handlers say about a payload is stored and logged.
// Causes are still found.
func TestC27_ErrorsQuoteNothing(t *testing.T) {
	t.Parallel()
	for name := range quoting(nil) {
		for _, shown := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, shown %t", name, shown), func(t *testing.T) {
				t.Parallel()
				var store meminbox.Store
				c := newContent(t, content.Config{Seal: &content.Seal{Keys: newKeys(), ShowErrors: shown}})
				in := newInbox(t, &store, inbox.Policy{Action: inbox.Park, Attempts: 1})
				msg := deliver(t, encode(t, c, personal("1")))
				require.NoError(t, in.Handle(c.Handle(func(_ context.Context, msg *message.Message) error {
					return quoting(msg.Payload)[name]
				}))(msg))
				all := parked(t, &store)
				require.Len(t, all, 1)
				said := fmt.Sprint(all[0].Reason, all[0].History, string(all[0].Message.Payload))
				require.Equal(t, shown, strings.Contains(said, "Lovelace"), "%s", said) // the control
				if !shown && name != "plain" {
					require.Contains(t, all[0].Reason, "*json.UnmarshalTypeError")
				}
			})
		}
	}
	c := newContent(t, content.Config{Seal: &content.Seal{Keys: newKeys()}})
	for _, marked := range []error{inbox.Permanent(errAway), inbox.Outage(errAway), context.Canceled} {
		err := c.Handle(func(context.Context, *message.Message) error { return marked })(t.Context(), deliver(t, encode(t, c, personal("1"))))
		require.ErrorIs(t, err, marked)
		require.Equal(t, inbox.IsPermanent(marked), inbox.IsPermanent(err))
		require.Equal(t, inbox.ShouldPoison(marked), inbox.ShouldPoison(err))
	}
}

// TestC27_OwnTextsStay: C27. Our own errors say which type and version could not be read.
func TestC27_OwnTextsStay(t *testing.T) {
	t.Parallel()
	first, _, third := marshalers(t)
	c := newContent(t, content.Config{Seal: &content.Seal{Keys: newKeys()}})
	m, err := third.Message("orders", "ada", placed3{Order: secret})
	require.NoError(t, err)
	m.ID = "1"
	err = c.Handle(func(_ context.Context, msg *message.Message) error {
		return first.Unmarshal(msg, &placed1{})
	})(t.Context(), deliver(t, encode(t, c, m)))
	require.ErrorIs(t, err, content.ErrFutureVersion)
	require.ErrorContains(t, err, `message "1" of type shop.OrderPlaced has version 3, and 1 is known`)
	require.NotContains(t, err.Error(), "Lovelace")
}

// TestC27_PanicsQuoteNothing: C27.
func TestC27_PanicsQuoteNothing(t *testing.T) {
	t.Parallel()
	c := newContent(t, content.Config{Seal: &content.Seal{Keys: newKeys()}})
	for name, value := range map[string]func(msg *message.Message) any{
		"text":  func(msg *message.Message) any { return string(msg.Payload) },
		"error": func(msg *message.Message) any { return fmt.Errorf("%s: %w", msg.Payload, errAway) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			msg := deliver(t, encode(t, c, personal("1")))
			sealed := string(msg.Payload)
			defer func() {
				err, ok := recover().(error)
				require.True(t, ok)
				require.NotContains(t, err.Error(), "Lovelace")
				require.Contains(t, err.Error(), "seal_test.go", "the stack is that of the handler")
				require.Equal(t, name == "error", errors.Is(err, errAway))
				require.Equal(t, sealed, string(msg.Payload))
			}()
			_ = c.Handle(func(_ context.Context, msg *message.Message) error { panic(value(msg)) })(t.Context(), msg)
		})
	}
}

// TestC28_AKeyIsDeleted: C28. Nobody reads the message any more, wherever it is. It is
// parked with that reason, or counts as processed.
func TestC28_AKeyIsDeleted(t *testing.T) {
	t.Parallel()
	for _, skip := range []bool{false, true} {
		t.Run(fmt.Sprintf("skip %t", skip), func(t *testing.T) {
			t.Parallel()
			var store meminbox.Store
			keys := newKeys()
			c := newContent(t, content.Config{Seal: &content.Seal{Keys: keys, SkipForgotten: skip}})
			m := encode(t, c, personal("1"))
			keys.forget("ada")
			in := newInbox(t, &store, inbox.Policy{Action: inbox.Park, Attempts: 5})
			handle := in.Handle(c.Handle(func(context.Context, *message.Message) error {
				t.Error("the handler ran")
				return nil
			}))
			require.NoError(t, handle(deliver(t, m)))
			require.NoError(t, handle(deliver(t, m)), "a copy")
			require.True(t, store.Recorded("loyalty", "1"), "it does not come again")
			all := parked(t, &store)
			if skip {
				require.Empty(t, all)
			} else {
				require.Len(t, all, 1)
				require.Contains(t, all[0].Reason, `is sealed by key "ada/0": leat: the key is deleted`)
				require.Equal(t, string(m.Payload), string(all[0].Message.Payload))
			}
			_, err := c.Show("customers", deliver(t, m).Metadata, m.Payload)
			require.ErrorIs(t, err, content.ErrForgotten, "a dashboard says why")
		})
	}
}

// TestC28_KeysAreAway: an outage parks nothing.
func TestC28_KeysAreAway(t *testing.T) {
	t.Parallel()
	var store meminbox.Store
	keys := newKeys()
	c := newContent(t, content.Config{Seal: &content.Seal{Keys: keys}})
	in := newInbox(t, &store, inbox.Policy{Action: inbox.Park, Attempts: 1})
	m := encode(t, c, personal("1"))
	ran := 0
	handle := in.Handle(c.Handle(func(context.Context, *message.Message) error { ran++; return nil }))
	keys.err = errAway
	for range 3 {
		require.ErrorIs(t, handle(deliver(t, m)), errAway)
	}
	_, err := c.Encode(t.Context(), personal("2"))
	require.ErrorIs(t, err, errAway)
	require.ErrorContains(t, err, `messages[0], id "2": current key`)
	keys.err = inbox.Permanent(errAway)
	_, err = open(t, c, deliver(t, m))
	require.True(t, inbox.IsPermanent(err))
	require.True(t, inbox.ShouldPoison(err))
	keys.err = nil
	require.NoError(t, handle(deliver(t, m)))
	require.Equal(t, 1, ran)
	require.Empty(t, parked(t, &store))
}

// TestC29_TwoCiphertexts: C29. A message that is enqueued twice has two payloads. Where ids
// are compared with fingerprints, that is a mismatch.
func TestC29_TwoCiphertexts(t *testing.T) {
	t.Parallel()
	c := newContent(t, content.Config{Seal: &content.Seal{Keys: newKeys()}})
	in, err := meminbox.New("loyalty", meminbox.Config{Config: inbox.Config{Fingerprint: inbox.FingerprintPayload}})
	require.NoError(t, err)
	handle := in.Handle(c.Handle(func(context.Context, *message.Message) error { return nil }))
	first := encode(t, c, personal("1"))
	require.NoError(t, handle(deliver(t, first)))
	require.NoError(t, handle(deliver(t, first)))
	require.ErrorIs(t, handle(deliver(t, encode(t, c, personal("1")))), inbox.ErrFingerprintMismatch)
}

// TestC30_Overhead: C30. A seal adds its nonce and tag, and nothing else.
func TestC30_Overhead(t *testing.T) {
	t.Parallel()
	c := newContent(t, content.Config{Seal: &content.Seal{Keys: newKeys()}})
	m := personal("1")
	m.Payload = []byte(strings.Repeat("a", 8436))
	require.Len(t, encode(t, c, m).Payload, 8436+12+16)
}

// TestSealNeedsAKey: a Keys that returns nothing must not leave a payload in clear text.
func TestSealNeedsAKey(t *testing.T) {
	t.Parallel()
	c := newContent(t, content.Config{Seal: &content.Seal{Keys: noKeys{}}})
	_, err := c.Encode(t.Context(), personal("1"))
	require.ErrorContains(t, err, "Keys returned none")
	sealed := encode(t, newContent(t, content.Config{Seal: &content.Seal{Keys: newKeys()}}), personal("1"))
	_, err = open(t, c, deliver(t, sealed))
	require.ErrorContains(t, err, "Keys returned none")
	tomb := personal("1")
	tomb.Payload, tomb.Headers = nil, map[string]string{outbox.HeaderTombstone: "1"}
	_, err = c.Encode(t.Context(), personal("2"), tomb)
	require.Error(t, err)
	_, err = newContent(t, content.Config{Seal: &content.Seal{Keys: newKeys()}}).Encode(t.Context(), personal("2"), tomb)
	require.ErrorIs(t, err, outbox.ErrInvalidMessage)
	require.ErrorContains(t, err, `messages[1].Headers["leat_tombstone"] cannot be sealed`)
}

type noKeys struct{}

func (noKeys) Current(context.Context, string) (string, content.AEAD, error) { return "", nil, nil }

func (noKeys) Key(context.Context, string) (content.AEAD, error) { return nil, nil }

// TestSubject: whose key seals is up to the service.
func TestSubject(t *testing.T) {
	t.Parallel()
	c := newContent(t, content.Config{Seal: &content.Seal{
		Keys: newKeys(), Subject: func(m *outbox.Message) string { return m.Headers["customer"] },
	}})
	m := personal("1")
	m.Headers["customer"] = "bob"
	require.Equal(t, "bob/0", encode(t, c, m).Headers["content-key"])
}
