package redissink_test

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/redissink"
)

//leat:level 0
func TestNew_RefusesWhatCannotWork(t *testing.T) {
	t.Parallel()
	one := []string{"127.0.0.1:1"}
	for names, test := range map[string]struct {
		server *redis.UniversalOptions
		cfg    redissink.Config
	}{
		"server":                      {nil, redissink.Config{}},
		"Addrs":                       {&redis.UniversalOptions{}, redissink.Config{}},
		"empty address":               {&redis.UniversalOptions{Addrs: []string{""}}, redissink.Config{}},
		"Redis Cluster":               {&redis.UniversalOptions{Addrs: []string{"a:1", "b:1"}}, redissink.Config{}},
		"IsClusterMode":               {&redis.UniversalOptions{Addrs: one, IsClusterMode: true}, redissink.Config{}},
		"ReadOnly":                    {&redis.UniversalOptions{Addrs: one, ReadOnly: true}, redissink.Config{}},
		"MaxRetries":                  {&redis.UniversalOptions{Addrs: one, MaxRetries: 3}, redissink.Config{}},
		"Ack":                         {at(one[0]), redissink.Config{Ack: 7}},
		"Replicas":                    {at(one[0]), redissink.Config{Ack: redissink.AckReplicas}},
		"unless replicas acknowledge": {at(one[0]), redissink.Config{Replicas: 1}},
		"MaxLen":                      {at(one[0]), redissink.Config{MaxLen: -1}},
		"MaxAge":                      {at(one[0]), redissink.Config{MaxAge: time.Millisecond}},
		"by one of them":              {at(one[0]), redissink.Config{MaxAge: time.Hour, MaxLen: 1}},
		"MaxMessageBytes":             {at(one[0]), redissink.Config{MaxMessageBytes: 512<<20 + 1}},
		"1024":                        {at(one[0]), redissink.Config{MaxMessageBytes: 1}},
	} {
		_, err := redissink.New(test.server, test.cfg)
		require.ErrorIs(t, err, outbox.ErrInvalidConfig, names)
		require.ErrorContains(t, err, names)
	}
	s := newSink(t, &redis.UniversalOptions{Addrs: []string{"a:1", "b:1"}, MasterName: "primary", MaxRetries: -1}, redissink.Config{Ack: redissink.AckReplicas, Replicas: 2})
	require.NoError(t, s.Close())
	require.ErrorIs(t, s.Check(t.Context()), outbox.ErrClosed)
	require.Equal(t, "synced replicas memory Ack(7)", redissink.AckSynced.String()+" "+redissink.AckReplicas.String()+" "+redissink.AckMemory.String()+" "+redissink.Ack(7).String())
}

func TestCheckTopics(t *testing.T) {
	t.Parallel()
	addr := keeping(t)
	client := connect(t, addr)
	require.NoError(t, client.Set(t.Context(), "text", "x", 0).Err())
	require.NoError(t, client.XAdd(t.Context(), &redis.XAddArgs{Stream: "there", Values: []any{"f", "v"}}).Err())
	topics := []string{"text", "there", "none"}
	for existing, want := range map[bool][]string{false: {"there", "none"}, true: {"there"}} {
		s := newSink(t, at(addr), redissink.Config{ExistingOnly: existing})
		available, err := s.CheckTopics(within(t, patience), topics)
		require.NoError(t, err)
		require.Equal(t, want, available)
	}
	away := newSink(t, at("127.0.0.1:1"), redissink.Config{})
	_, err := away.CheckTopics(within(t, patience), topics)
	require.ErrorContains(t, err, "leat: redis at [127.0.0.1:1] does not answer: ")
}
