package registry_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/sr"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/admin"
	"github.com/leat-go/leat/inbox/meminbox"
	"github.com/leat-go/leat/middleware/content/registry"
)

func TestNew_Refuses(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	_, err := registry.New(registry.Config{})
	require.ErrorContains(t, err, "Client = <nil>: is required")
	_, err = registry.New(registry.Config{Client: must(sr.NewClient()), Retry: -1})
	require.ErrorContains(t, err, "Retry = -1ns: must not be negative")
	_, err = registry.Avro[orderPlaced](f.open(t, registry.Config{}), orderSchema, registry.Options{ID: -1})
	require.ErrorContains(t, err, "ID = -1: is not the id of a schema")
}

// Construction asks nobody, twenty first payloads ask once, and later ones do not ask.
func TestC6_AsksOnce(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	id, _, err := f.RegisterSchema("shop.OrderPlaced", sr.Schema{Schema: orderSchema})
	require.NoError(t, err)
	codec := orders(f.open(t, registry.Config{}))
	require.Zero(t, f.asked.Load())
	var group sync.WaitGroup
	for range 20 {
		group.Go(func() {
			b, err := codec.Encode(orderPlaced{"a", 1})
			if err != nil || int(b[4]) != id {
				t.Errorf("%v %v", b, err)
			}
		})
	}
	group.Wait()
	require.EqualValues(t, 1, f.asked.Load())

	// What is known needs no registry, in either direction.
	f.answer(500, "")
	b, err := codec.Encode(&orderPlaced{"a", 1})
	require.NoError(t, err)
	require.Equal(t, []byte{0, 0, 0, 0, byte(id), 2, 'a', 2}, b)
	var got orderPlaced
	require.NoError(t, codec.Decode(b, &got))
	require.Equal(t, orderPlaced{"a", 1}, got)
	require.EqualValues(t, 1, f.asked.Load())
}

// A schema that is not registered fails the transaction, and is registered only if that is
// wanted: by twenty processes at once, too, under one id.
func TestC7_LookUpOnly(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	_, err := orders(f.open(t, registry.Config{})).Encode(orderPlaced{})
	require.ErrorContains(t, err, "subject shop.OrderPlaced: this version is not registered: 404: ")
	require.NotErrorIs(t, err, registry.ErrUnavailable)
	require.False(t, f.SubjectExists("shop.OrderPlaced"))

	ids := make([]byte, 20)
	var group sync.WaitGroup
	for i := range ids {
		codec := orders(f.open(t, registry.Config{Register: true, Timeout: time.Minute}))
		group.Go(func() {
			b, err := codec.Encode(orderPlaced{})
			if err != nil {
				t.Error(err)
				return
			}
			ids[i] = b[4]
		})
	}
	group.Wait()
	require.Equal(t, strings.Repeat(string(ids[0]), 20), string(ids))
	_, ok := f.GetSchema("shop.OrderPlaced", 2)
	require.False(t, ok)
}

// C7. Questions about a schema are normalized: a space more would make another version of it.
func TestC7_Normalized(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	var asked []string
	f.failWith(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Method+" "+r.URL.RequestURI())
		w.Header().Set("Content-Type", "application/vnd.schemaregistry.v1+json")
		if len(asked) == 1 {
			w.WriteHeader(http.StatusNotFound)
			_, _ = w.Write([]byte(`{"error_code":40403,"message":"not found"}`))
			return
		}
		_, _ = w.Write([]byte(`{"subject":"shop.OrderPlaced","id":1,"version":1}`))
	})
	_, _ = orders(f.open(t, registry.Config{Register: true})).Encode(orderPlaced{})
	require.GreaterOrEqual(t, len(asked), 2, "looked up, and registered")
	for _, question := range asked {
		if strings.HasPrefix(question, http.MethodPost) {
			require.Contains(t, question, "normalize=true")
		}
	}
}

// C16. A subject is the full name of the type, so that types share a topic: each reads its own
// payloads, and refuses those of the others for good.
func TestC16_TypesShareATopic(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	r := f.open(t, registry.Config{Register: true})
	shipped := must(registry.Avro[orderPlaced](r, strings.Replace(orderSchema, "OrderPlaced", "OrderShipped", 1), registry.Options{}))
	placed := orders(r)
	a, b := must(placed.Encode(orderPlaced{"a", 1})), must(shipped.Encode(orderPlaced{"b", 2}))
	require.True(t, f.SubjectExists("shop.OrderPlaced"))
	require.True(t, f.SubjectExists("shop.OrderShipped"))
	var got orderPlaced
	require.NoError(t, placed.Decode(a, &got))
	require.NoError(t, shipped.Decode(b, &got))
	require.True(t, inbox.IsPermanent(placed.Decode(b, &got)))
	require.True(t, inbox.IsPermanent(shipped.Decode(a, &got)))
}

// With an id of its own a process encodes without a registry; Ready still compares it.
func TestOptions(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	r := f.open(t, registry.Config{Register: true})
	codec := must(registry.Avro[orderPlaced](r, orderSchema, registry.Options{Subject: "orders-value", ID: 77}))
	b, err := codec.Encode(orderPlaced{})
	require.NoError(t, err)
	require.Equal(t, []byte{0, 0, 0, 0, 77, 0, 0}, b)
	require.Zero(t, f.asked.Load())
	require.ErrorContains(t, r.Ready(t.Context()), "subject orders-value: the registry has id 1 for the schema, payloads are written with 77")
}

// What says that the registry is unavailable or asks for other credentials is an outage: it does not
// speak against the message. What the registry itself refuses fails the transaction with its words.
func TestC8_Failures(t *testing.T) {
	t.Parallel()
	refusal := `{"error_code":40999,"message":"its own words"}`
	for _, c := range []struct {
		status int
		body   string
		outage bool
	}{
		{500, refusal, true},
		{503, "", true},
		{401, refusal, true},
		{403, refusal, true},
		{408, refusal, true},
		{429, refusal, true},
		{200, "<html>log in</html>", true},
		{404, "<html>not here</html>", true},
		{404, "", true},
		{404, `{"message":"no route"}`, true},
		{200, "{}", true},
		{200, `{"id":0}`, true},
		{304, "", true},
		{400, refusal, false},
		{404, refusal, false},
		{409, refusal, false},
		{422, refusal, false},
	} {
		t.Run(fmt.Sprint(c.status, c.body), func(t *testing.T) {
			t.Parallel()
			f := newFake(t)
			f.answer(c.status, c.body)
			codec := orders(f.open(t, registry.Config{Register: true}))
			_, err := codec.Encode(orderPlaced{})
			requireFailure(t, err, c.outage, "subject shop.OrderPlaced")
			err = orders(f.open(t, registry.Config{})).Decode([]byte{0, 0, 0, 0, 9, 0, 0}, &orderPlaced{})
			requireFailure(t, err, c.outage, "payload of schema 9")
			err = f.open(t, registry.Config{}).Check(t.Context())
			require.NoError(t, err, "nothing to check")
		})
	}
}

func requireFailure(t *testing.T, err error, outage bool, where string) {
	t.Helper()
	require.ErrorContains(t, err, where)
	require.False(t, inbox.IsPermanent(err))
	require.Equal(t, outage, errors.Is(err, registry.ErrUnavailable), "%v", err)
	require.Equal(t, !outage, inbox.ShouldPoison(err))
	if !outage {
		require.ErrorContains(t, err, "its own words")
	}
}

// A registry that has gone is an outage, and its address, which may hold a password, stays out of
// errors.
func TestC8_Closed(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	url := strings.Replace(f.URL(), "http://", "http://ann:secret@", 1)
	f.Close()
	for range 2 { // the second is the memory of the first
		_, err := orders(open(t, url, registry.Config{})).Encode(orderPlaced{})
		requireFailure(t, err, true, "subject shop.OrderPlaced")
		require.NotContains(t, err.Error(), "secret")
	}
}

// A registry that does not answer holds up the first transaction, and the others of the time
// until it is asked again do not wait, whatever their schema is.
func TestC6_SilentRegistry(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	release := make(chan struct{})
	t.Cleanup(func() { close(release) })
	f.failWith(func(http.ResponseWriter, *http.Request) { <-release })
	r := f.open(t, registry.Config{Timeout: 50 * time.Millisecond, Retry: time.Hour})
	var group sync.WaitGroup
	for range 10 {
		group.Go(func() {
			if _, err := orders(r).Encode(orderPlaced{}); !errors.Is(err, registry.ErrUnavailable) {
				t.Error(err)
			}
		})
	}
	group.Wait()
	asked := f.asked.Load()
	for range 100 {
		_, err := orders(r).Encode(orderPlaced{})
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorIs(t, orders(r).Decode([]byte{0, 0, 0, 0, 9, 0, 0}, &orderPlaced{}), registry.ErrUnavailable)
	}
	require.Equal(t, asked, f.asked.Load())
}

// A failure stands for a while only.
func TestC6_FailuresStandForAWhile(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	codec := orders(f.open(t, registry.Config{Register: true, Retry: time.Nanosecond}))
	for _, status := range []int{500, 422} {
		f.answer(status, `{"error_code":1,"message":"m"}`)
		_, err := codec.Encode(orderPlaced{})
		require.Error(t, err)
	}
	f.recover()
	_, err := codec.Encode(orderPlaced{})
	require.NoError(t, err)
}

// An outage parks nothing, however often the message comes; a payload that nobody can read is
// parked at once.
func TestC8_OutageParksNothing(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	b, err := orders(f.open(t, registry.Config{Register: true})).Encode(orderPlaced{"a", 1})
	require.NoError(t, err)
	codec := orders(f.open(t, registry.Config{Retry: time.Nanosecond}))
	var store meminbox.Store
	in := must(meminbox.New("shop", meminbox.Config{Store: &store, Config: inbox.Config{
		OnFailure: inbox.Policy{Action: inbox.Park, Attempts: 3, Delay: inbox.NoDelay},
	}}))
	runs := 0
	handle := in.Handle(func(_ context.Context, msg *message.Message) error {
		runs++
		var got orderPlaced
		return codec.Decode(msg.Payload, &got)
	})
	f.answer(503, "")
	for range 5 {
		require.ErrorIs(t, handle(message.NewMessage("good", b)), registry.ErrUnavailable)
	}
	f.recover()
	require.NoError(t, handle(message.NewMessage("good", b)))
	require.Equal(t, 6, runs)
	require.NoError(t, handle(message.NewMessage("poison", append(b, 0))))
	require.Equal(t, 7, runs)
	parked, err := meminbox.NewAdmin(&store).Parked(t.Context(), admin.ParkedQuery{Consumer: "shop"})
	require.NoError(t, err)
	require.Len(t, parked, 1)
	require.Equal(t, "poison", parked[0].ID)
}

// Ready asks for all schemas, names each that is missing, and notices a registry that has come
// back empty, or with other ids. Payloads are written with the ids that are known.
func TestReady(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	r := f.open(t, registry.Config{})
	codec := orders(r)
	must(registry.JSON(r, `{"title":"shop.Note"}`, func([]byte) error { return nil }, registry.Options{}))
	err := r.Ready(t.Context())
	require.ErrorContains(t, err, "subject shop.OrderPlaced: ")
	require.ErrorContains(t, err, "subject shop.Note: ")

	register := f.open(t, registry.Config{Register: true})
	orders(register)
	must(registry.JSON(register, `{"title":"shop.Note"}`, func([]byte) error { return nil }, registry.Options{}))
	require.NoError(t, register.Ready(t.Context()))
	require.NoError(t, r.Ready(t.Context()))
	before, err := codec.Encode(orderPlaced{})
	require.NoError(t, err)

	f.Reset()
	require.ErrorContains(t, r.Ready(t.Context()), "subject shop.OrderPlaced: this version is not registered")
	f.SeedSchema("shop.OrderPlaced", 1, 50, sr.Schema{Schema: orderSchema})
	require.ErrorContains(t, r.Ready(t.Context()), "id 50 for the schema, payloads are written with 1")
	after, err := codec.Encode(orderPlaced{})
	require.NoError(t, err)
	require.Equal(t, before, after)

	f.answer(500, "")
	require.ErrorIs(t, r.Ready(t.Context()), registry.ErrUnavailable)
}

// Ids that the registry does not know do not fill the memory.
func TestUnknownIDs(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	codec := orders(f.open(t, registry.Config{Timeout: time.Minute, Retry: time.Hour}))
	decode := func(id int) {
		err := codec.Decode([]byte{0, 0, 0, byte(id >> 8), byte(id), 0, 0}, &orderPlaced{})
		require.ErrorContains(t, err, fmt.Sprintf("payload of schema %d: 404: ", id))
	}
	for id := range 1001 {
		decode(id + 1)
	}
	decode(1001)
	require.EqualValues(t, 1001, f.asked.Load())
	decode(1) // forgotten with the first thousand
	require.EqualValues(t, 1002, f.asked.Load())
}
