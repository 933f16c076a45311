package content_test

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"testing"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/components/cqrs"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/ThreeDotsLabs/watermill/pubsub/gochannel"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/meminbox"
	"github.com/leat-go/leat/middleware/content"
	"github.com/leat-go/leat/outbox"
)

// The versions of one event type.
type (
	placed1 struct {
		Order string `json:"order"`
		Total int    `json:"total"` // in euros
	}
	placed2 struct {
		Order string `json:"order"`
		Cents int    `json:"cents"`
	}
	placed3 struct {
		Order    string `json:"order"`
		Cents    int    `json:"cents"`
		Currency string `json:"currency"`
	}
	shipped struct{ Order string }
)

const placedName = "shop.OrderPlaced"

func toCents(old placed1) (placed2, error) {
	if old.Total < 0 {
		return placed2{}, errors.New("a negative total")
	}
	return placed2{old.Order, 100 * old.Total}, nil
}

func toEuros(old placed2) (placed3, error) { return placed3{old.Order, old.Cents, "EUR"}, nil }

// marshalers returns what processes of the three releases have.
func marshalers(tb testing.TB) (first, second, third *content.Marshaler) {
	tb.Helper()
	v1 := content.From(1, content.JSON(), toCents)
	v2 := content.From(2, content.JSON(), toEuros)
	releases := make([]*content.Marshaler, 3)
	for i, event := range []content.Event{
		content.Of[placed1](placedName, 1, content.JSON()),
		content.Of[placed2](placedName, 2, content.JSON(), v1),
		content.Of[placed3](placedName, 3, content.JSON(), v2, v1),
	} {
		var err error
		releases[i], err = content.NewMarshaler(event, content.Of[shipped]("shop.OrderShipped", 1, content.JSON()))
		require.NoError(tb, err)
	}
	return releases[0], releases[1], releases[2]
}

var _ cqrs.CommandEventMarshaler = (*content.Marshaler)(nil)

// TestC17_TheVersionIsAHeader: C17, C20. The name stays, and other marshalers find it.
func TestC17_TheVersionIsAHeader(t *testing.T) {
	t.Parallel()
	_, second, third := marshalers(t)
	msg, err := second.Marshal(placed2{"17", 200})
	require.NoError(t, err)
	require.Equal(t, message.Metadata{
		"event-type": placedName, "name": placedName, "event-version": "2", "content-type": "application/json",
	}, msg.Metadata)
	require.JSONEq(t, `{"order":"17","cents":200}`, string(msg.Payload))
	require.Equal(t, placedName, cqrs.JSONMarshaler{}.NameFromMessage(msg))
	require.NotEmpty(t, msg.UUID)

	for _, v := range []any{placed2{"17", 200}, &placed2{"17", 200}} {
		m, err := second.Message("orders", "17", v)
		require.NoError(t, err)
		require.Equal(t, outbox.Message{
			Topic: "orders", Key: "17", Type: placedName, Payload: msg.Payload,
			Headers: map[string]string{"name": placedName, "event-version": "2", "content-type": "application/json"},
		}, m)
		var got placed3
		require.NoError(t, third.Unmarshal(deliver(t, m), &got))
		require.Equal(t, placed3{"17", 200, "EUR"}, got)
	}
}

// TestC17_Versions: C17, C18. What each release makes of the messages of each.
func TestC17_Versions(t *testing.T) {
	t.Parallel()
	first, _, third := marshalers(t)
	tests := map[string]struct {
		version, payload string
		want             placed3
		err              string
		permanent        bool
	}{
		"current":      {version: "3", payload: `{"order":"17","cents":5,"currency":"CHF"}`, want: placed3{"17", 5, "CHF"}},
		"one behind":   {version: "2", payload: `{"order":"17","cents":5}`, want: placed3{"17", 5, "EUR"}},
		"two behind":   {version: "1", payload: `{"order":"17","total":2}`, want: placed3{"17", 200, "EUR"}},
		"no version":   {payload: `{"order":"17","total":2}`, want: placed3{"17", 200, "EUR"}},
		"future":       {version: "4", payload: `{}`, err: "has version 4, and 3 is known"},
		"zero":         {version: "0", payload: `{}`, err: `the version "0"`, permanent: true},
		"no number":    {version: "v2", payload: `{}`, err: `the version "v2"`, permanent: true},
		"unreadable":   {version: "3", payload: `{"order":`, err: "version 3", permanent: true},
		"cannot go up": {version: "1", payload: `{"total":-1}`, err: "a negative total"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			msg := message.NewMessage("1", []byte(tt.payload))
			msg.Metadata.Set("event-type", placedName)
			msg.Metadata.Set("event-version", tt.version)
			var got placed3
			err := third.Unmarshal(msg, &got)
			require.Equal(t, tt.want, got)
			if tt.err == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, tt.err)
			require.ErrorContains(t, err, placedName)
			require.Equal(t, tt.permanent, inbox.IsPermanent(err), "%v", err)
			require.Equal(t, name == "future", errors.Is(err, content.ErrFutureVersion))
			require.True(t, inbox.ShouldPoison(err))
		})
	}
	msg, err := third.Marshal(placed3{"17", 5, "CHF"})
	require.NoError(t, err)
	require.ErrorIs(t, first.Unmarshal(msg, &placed1{}), content.ErrFutureVersion)

	// The control: without versions the old consumer takes the rest for nothing.
	var zeros placed1
	require.NoError(t, cqrs.JSONMarshaler{}.Unmarshal(msg, &zeros))
	require.Equal(t, placed1{Order: "17"}, zeros)
}

// TestC18_TooOld: C18. A version that this release has left behind is permanent.
func TestC18_TooOld(t *testing.T) {
	t.Parallel()
	first, _, _ := marshalers(t)
	m, err := content.NewMarshaler(content.Of[placed3](placedName, 3, content.JSON(), content.From(2, content.JSON(), toEuros)))
	require.NoError(t, err)
	msg, err := first.Marshal(placed1{"17", 2})
	require.NoError(t, err)
	err = m.Unmarshal(msg, &placed3{})
	require.ErrorContains(t, err, "has version 1, and 2 is the oldest that is known")
	require.True(t, inbox.IsPermanent(err))
}

// TestC18_Construction: C18. What cannot be read later is refused at once.
func TestC18_Construction(t *testing.T) {
	t.Parallel()
	codec := content.JSON()
	v1, v2 := content.From(1, codec, toCents), content.From(2, codec, toEuros)
	for name, tt := range map[string]struct {
		events []content.Event
		want   string
	}{
		"gap":         {[]content.Event{content.Of[placed3]("x", 3, codec, v1)}, "version 1 = 1: must be 2"},
		"gap above":   {[]content.Event{content.Of[placed3]("x", 4, codec, v1, v2)}, "must be 3"},
		"twice":       {[]content.Event{content.Of[placed3]("x", 3, codec, v2, v2)}, "version 2 = 2: must be 1"},
		"not below":   {[]content.Event{content.Of[placed3]("x", 2, codec, v2)}, "must be 1"},
		"too many":    {[]content.Event{content.Of[placed3]("x", 2, codec, v1, v2)}, "more older versions"},
		"types":       {[]content.Event{content.Of[placed3]("x", 2, codec, v1)}, "the next version is of type content_test.placed3"},
		"last type":   {[]content.Event{content.Of[shipped]("x", 3, codec, v1, v2)}, "the next version is of type content_test.shipped"},
		"no name":     {[]content.Event{content.Of[shipped]("", 1, codec)}, "a name has 1 to 512 bytes"},
		"version 0":   {[]content.Event{content.Of[shipped]("x", 0, codec)}, "versions count from 1"},
		"no codec":    {[]content.Event{content.Of[shipped]("x", 1, nil)}, "a codec is required"},
		"older codec": {[]content.Event{content.Of[placed2]("x", 2, codec, content.From(1, nil, toCents))}, "a codec and a function are required"},
		"no function": {[]content.Event{content.Of[placed2]("x", 2, codec, content.From[placed1, placed2](1, codec, nil))}, "a codec and a function are required"},
		"same name":   {[]content.Event{content.Of[placed1]("x", 1, codec), content.Of[placed2]("x", 1, codec)}, "another event has the name or the type"},
		"same type":   {[]content.Event{content.Of[placed1]("x", 1, codec), content.Of[*placed1]("y", 1, codec)}, "another event has the name or the type"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := content.NewMarshaler(tt.events...)
			require.ErrorIs(t, err, outbox.ErrInvalidConfig)
			require.ErrorContains(t, err, tt.want)
		})
	}
}

func TestMarshalerOfPointers(t *testing.T) {
	t.Parallel()
	m, err := content.NewMarshaler(content.Of[*placed2](placedName, 2, content.JSON(),
		content.From(1, content.JSON(), func(old *placed1) (*placed2, error) {
			if old.Total == 0 {
				return nil, nil
			}
			next, err := toCents(*old)
			return &next, err
		})))
	require.NoError(t, err)
	for _, v := range []any{placed2{"17", 5}, &placed2{"17", 5}} {
		msg, err := m.Marshal(v)
		require.NoError(t, err)
		var got placed2
		require.NoError(t, m.Unmarshal(msg, &got))
		require.Equal(t, placed2{"17", 5}, got)
	}
	old := message.NewMessage("1", []byte(`{"order":"17","total":2}`))
	old.Metadata.Set("name", placedName)
	var got placed2
	require.NoError(t, m.Unmarshal(old, &got))
	require.Equal(t, placed2{"17", 200}, got)
	old.Payload = []byte(`{}`)
	require.ErrorContains(t, m.Unmarshal(old, &got), "returned nil")
}

func TestMarshalerRefuses(t *testing.T) {
	t.Parallel()
	first, _, _ := marshalers(t)
	for _, v := range []any{nil, 17, placed3{}, (*placed1)(nil)} {
		_, err := first.Marshal(v)
		require.ErrorContains(t, err, "is not an event")
		_, err = first.Message("orders", "", v)
		require.ErrorContains(t, err, "is not an event")
	}
	msg, err := first.Marshal(placed1{})
	require.NoError(t, err)
	for _, v := range []any{nil, 17, placed1{}, (*placed1)(nil), &placed3{}} {
		require.ErrorContains(t, first.Unmarshal(msg, v), "is not a pointer to an event")
	}
	err = first.Unmarshal(msg, &shipped{})
	require.ErrorContains(t, err, `is of type "shop.OrderPlaced", not "shop.OrderShipped"`)
	require.True(t, inbox.IsPermanent(err))
	require.Equal(t, "content_test.placed3", first.Name(&placed3{}))
	require.Equal(t, placedName, first.Name(&placed1{}))

	m, err := content.NewMarshaler(content.Of[func()]("f", 1, content.JSON()))
	require.NoError(t, err)
	_, err = m.Marshal(func() {})
	require.ErrorAs(t, err, new(*json.UnsupportedTypeError))
	require.ErrorContains(t, err, "encode f, version 1")
}

// TestC18_RollingDeploy: C18. Two releases read one topic as one group, and one of them
// writes the new version. All are handled, whichever is deployed first, and none is parked.
func TestC18_RollingDeploy(t *testing.T) {
	t.Parallel()
	first, second, _ := marshalers(t)
	for name, writers := range map[string][]*content.Marshaler{
		"consumers first": {first, first}, "producers first": {second, second}, "both write": {first, second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var store meminbox.Store
			policy := inbox.Policy{Action: inbox.Park, Attempts: 20}
			orders := map[string]int{}
			readers := []message.NoPublishHandlerFunc{
				newInbox(t, &store, policy).Handle(func(_ context.Context, msg *message.Message) error {
					var v placed1
					err := first.Unmarshal(msg, &v)
					if err == nil {
						orders[v.Order] += 100 * v.Total
					}
					return err
				}),
				newInbox(t, &store, policy).Handle(func(_ context.Context, msg *message.Message) error {
					var v placed2
					err := second.Unmarshal(msg, &v)
					if err == nil {
						orders[v.Order] += v.Cents
					}
					return err
				}),
			}
			for i := range 100 {
				var v any = placed1{strconv.Itoa(i), 2}
				writer := writers[i%2]
				if writer == second {
					v = placed2{strconv.Itoa(i), 200}
				}
				msg, err := writer.Marshal(v)
				require.NoError(t, err)
				for try := i / 3; ; try++ { // whom the message comes to
					msg := msg.Copy()
					msg.SetContext(t.Context())
					err := readers[try%2](msg)
					if err == nil {
						break
					}
					require.ErrorIs(t, err, content.ErrFutureVersion)
				}
			}
			require.Len(t, orders, 100)
			for order, cents := range orders {
				require.Equal(t, 200, cents, "order %s", order)
			}
			require.Empty(t, parked(t, &store))
		})
	}
}

// TestC17_UnknownNamesAreAcknowledged: C17. The reason why versions are not in the name: a
// processor that acknowledges what it does not know drops a renamed type in silence. By the
// header it fails.
func TestC17_UnknownNamesAreAcknowledged(t *testing.T) {
	t.Parallel()
	first, second, _ := marshalers(t)
	renamed, err := content.NewMarshaler(content.Of[placed2](placedName+"V2", 1, content.JSON()))
	require.NoError(t, err)
	for name, tt := range map[string]struct {
		writer *content.Marshaler
		err    error
	}{"another name": {renamed, nil}, "another version": {second, content.ErrFutureVersion}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			msg, err := tt.writer.Marshal(placed2{"17", 200})
			require.NoError(t, err)
			called, err := process(t, first, msg)
			require.ErrorIs(t, err, tt.err)
			require.Zero(t, called)
		})
	}
	msg, err := first.Marshal(placed1{"17", 2})
	require.NoError(t, err)
	called, err := process(t, first, msg)
	require.NoError(t, err)
	require.Equal(t, 1, called)
}

// process runs msg through an EventProcessor of package cqrs.
func process(t *testing.T, m *content.Marshaler, msg *message.Message) (called int, err error) {
	t.Helper()
	router, err := message.NewRouter(message.RouterConfig{}, watermill.NopLogger{})
	require.NoError(t, err)
	broker := gochannel.NewGoChannel(gochannel.Config{}, watermill.NopLogger{})
	t.Cleanup(func() { require.NoError(t, broker.Close()) })
	processor, err := cqrs.NewEventProcessorWithConfig(router, cqrs.EventProcessorConfig{
		GenerateSubscribeTopic: func(cqrs.EventProcessorGenerateSubscribeTopicParams) (string, error) { return "orders", nil },
		SubscriberConstructor: func(cqrs.EventProcessorSubscriberConstructorParams) (message.Subscriber, error) {
			return broker, nil
		},
		AckOnUnknownEvent: true,
		Marshaler:         m,
	})
	require.NoError(t, err)
	handler, err := processor.AddHandler(cqrs.NewEventHandler("points", func(context.Context, *placed1) error {
		called++
		return nil
	}))
	require.NoError(t, err)
	require.NotNil(t, handler)
	_, err = router.Handlers()["points"](msg)
	return called, err
}
