package registry_test

import (
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/sr"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/middleware/content"
	"github.com/leat-go/leat/middleware/content/registry"
)

// shop is the three codecs of a process on a real registry.
type shop struct {
	*registry.Registry

	avro, proto, json content.Codec
}

func newShop(tb testing.TB, url, namespace string, cfg registry.Config) shop {
	tb.Helper()
	r := open(tb, url, cfg)
	return shop{
		r,
		must(registry.Avro[orderPlaced](r, strings.Replace(orderSchema, "shop", namespace, 1), registry.Options{})),
		must(registry.Proto(r, shopMessage(namespace, "OrderPlaced"), shopFiles(namespace), registry.Options{Subject: namespace + ".proto"})),
		must(registry.JSON(r, `{"title":"`+namespace+`.Note","type":"object","properties":{"id":{"type":"string"},"total":{"type":"integer"}}}`,
			func(b []byte) error {
				if !json.Valid(b) {
					return errors.New("not JSON")
				}
				return nil
			}, registry.Options{})),
	}
}

// What one process writes another reads and shows, in all three kinds.
//
//leat:level 2
func TestServer_RoundTrip(t *testing.T) {
	t.Parallel()
	env := testenv.Registry(t)
	require.ErrorContains(t, newShop(t, env.URL, env.Namespace, registry.Config{}).Ready(t.Context()), "is not registered: 404: ")
	writer := newShop(t, env.URL, env.Namespace, registry.Config{Register: true, Timeout: time.Minute})
	require.NoError(t, writer.Ready(t.Context()))
	require.NoError(t, writer.Check(t.Context()))
	reader := newShop(t, env.URL, env.Namespace, registry.Config{Timeout: time.Minute})
	message := fill(shopMessage(env.Namespace, "OrderPlaced"), `id:"a" total{cents:7}`)
	gotMessage := shopMessage(env.Namespace, "OrderPlaced")
	for _, c := range []struct {
		writer, reader content.Codec
		v, got         any
		text           string
	}{
		{writer.avro, reader.avro, orderPlaced{"a", 7}, &orderPlaced{}, `{"id":"a","total":7}`},
		{writer.json, reader.json, orderPlaced{"a", 7}, &orderPlaced{}, `{"id":"a","total":7}`},
		{writer.proto, reader.proto, message, gotMessage, `{"id":"a","total":{"cents":"7"}}`},
	} {
		b, err := c.writer.Encode(c.v)
		require.NoError(t, err)
		require.NoError(t, c.reader.Decode(b, c.got))
		text, err := reader.Show("", nil, b)
		require.NoError(t, err)
		require.JSONEq(t, c.text, string(text))
	}
	requireProto(t, message, gotMessage)

	// Spaces do not make another schema.
	spaced := open(t, env.URL, registry.Config{})
	must(registry.Avro[orderPlaced](spaced, strings.NewReplacer("shop", env.Namespace, ":", ": ").Replace(orderSchema), registry.Options{}))
	require.NoError(t, spaced.Ready(t.Context()))
}

// Twenty processes that register at once get one id.
//
//leat:level 2
func TestC7_TwentyRegister(t *testing.T) {
	t.Parallel()
	env := testenv.Registry(t)
	ids := make([]string, 20)
	var group sync.WaitGroup
	for i := range ids {
		s := newShop(t, env.URL, env.Namespace, registry.Config{Register: true, Timeout: time.Minute})
		group.Go(func() {
			b, err := s.avro.Encode(orderPlaced{})
			if err != nil {
				t.Error(err)
				return
			}
			ids[i] = string(b[:5])
		})
	}
	group.Wait()
	for _, id := range ids {
		require.Equal(t, ids[0], id)
	}
	client := newClient(t, env.URL)
	versions, err := client.SubjectVersions(t.Context(), env.Namespace+".OrderPlaced")
	require.NoError(t, err)
	require.Len(t, versions, 1)
}

// Check names the subject and the reason, which the registry does not say; registering is refused
// with the registry's words. An import is checked, too.
//
//leat:level 2
func TestC9_Incompatible(t *testing.T) {
	t.Parallel()
	env := testenv.Registry(t)
	require.NoError(t, newShop(t, env.URL, env.Namespace, registry.Config{Register: true}).Ready(t.Context()))
	client := newClient(t, env.URL)
	subject := env.Namespace + ".OrderPlaced"
	for _, result := range client.SetCompatibility(t.Context(), sr.SetCompatibility{Level: sr.CompatBackward}, subject, env.Namespace+"/money.proto") {
		require.NoError(t, result.Err)
	}
	r := open(t, env.URL, registry.Config{Register: true, Timeout: time.Minute})
	type order struct {
		ID    string `avro:"id"`
		Total string `avro:"total"`
	}
	codec := must(registry.Avro[order](r, strings.NewReplacer("shop", env.Namespace, "long", "string").Replace(orderSchema), registry.Options{}))
	err := r.Check(t.Context())
	require.ErrorContains(t, err, "subject "+subject+": incompatible with version 1: ")
	require.ErrorContains(t, err, "total: reader string vs writer long")
	_, err = codec.Encode(order{})
	require.ErrorContains(t, err, "subject "+subject+": not registered: 409: ")
	require.NotErrorIs(t, err, registry.ErrUnavailable)

	files := shopFiles(env.Namespace)
	files[env.Namespace+"/money.proto"] = &fstest.MapFile{Data: []byte("syntax = \"proto3\";\npackage " + env.Namespace + ";\nmessage Money { string cents = 1; }\n")}
	r = open(t, env.URL, registry.Config{})
	must(registry.Proto(r, shopMessage(env.Namespace, "OrderPlaced"), files, registry.Options{Subject: env.Namespace + ".proto"}))
	require.ErrorContains(t, r.Check(t.Context()), "subject "+env.Namespace+".proto: import "+env.Namespace+"/money.proto: incompatible with version 1")
}

// A registry that is stopped holds up one transaction for a second and the others not at all,
// known schemas work on, and after a restart that has lost all schemas Ready tells.
//
//leat:level 4
func TestC6_Away(t *testing.T) {
	t.Parallel()
	server := testenv.PrivateRegistry(t)
	first := newShop(t, server.URL, "shop", registry.Config{Register: true, Timeout: time.Minute})
	before, err := first.avro.Encode(orderPlaced{"a", 1})
	require.NoError(t, err)

	resume := server.Pause()
	second := newShop(t, server.URL, "shop", registry.Config{Retry: time.Hour})
	for _, codec := range []content.Codec{second.avro, second.json, second.avro} {
		_, err = codec.Encode(orderPlaced{})
		requireFailure(t, err, true, "subject shop.")
	}
	requireFailure(t, second.avro.Decode(before, &orderPlaced{}), true, "payload of schema ")
	same, err := first.avro.Encode(orderPlaced{"a", 1})
	require.NoError(t, err)
	require.Equal(t, before, same)
	require.NoError(t, first.avro.Decode(before, &orderPlaced{}))
	resume()

	server.Kill()
	third := newShop(t, server.URL, "shop", registry.Config{})
	_, err = third.avro.Encode(orderPlaced{})
	requireFailure(t, err, true, "subject shop.OrderPlaced")
	server.Start()
	require.ErrorContains(t, newShop(t, server.URL, "shop", registry.Config{}).Ready(t.Context()), "subject shop.OrderPlaced: this version is not registered: 404: ")
	_, err = first.avro.Encode(orderPlaced{})
	require.NoError(t, err)
}
