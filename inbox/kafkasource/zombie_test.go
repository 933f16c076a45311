package kafkasource_test

import (
	"context"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/kafkasource"
	"github.com/leat-go/leat/internal/testenv"
)

// network is a member's way to the cluster, which a test can make silent: what is
// written vanishes, and nothing is read.
type network struct {
	mu     sync.Mutex
	silent bool
}

func (n *network) fallSilent() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.silent = true
}

func (n *network) isSilent() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.silent
}

func (n *network) dial(ctx context.Context, kind, host string) (net.Conn, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, kind, host)
	if err != nil {
		return nil, err
	}
	return &wire{Conn: conn, network: n}, nil
}

type wire struct {
	net.Conn
	*network
}

func (w *wire) Write(p []byte) (int, error) {
	if w.isSilent() {
		return len(p), nil
	}
	return w.Conn.Write(p)
}

func (w *wire) Read(p []byte) (int, error) {
	for {
		if n, err := w.Conn.Read(p); err != nil || !w.isSilent() {
			return n, err
		}
	}
}

// TestI8_SilentMemberStopsBeforeItIsReplaced: a member that the cluster cannot
// hear any more cancels its handlers before another member gets the message; what
// the zombie wrote is rolled back.
func TestI8_SilentMemberStopsBeforeItIsReplaced(t *testing.T) {
	t.Parallel()
	env, pool := testenv.RealKafka(t), database(t)
	topic := env.Topic(t, "silent", 1)
	require.NoError(t, client(t, env.Brokers).ProduceSync(t.Context(), record(topic, 0, "1", "k")).FirstErr())

	way := &network{}
	cfg := brisk()
	cfg.Options = []kgo.Opt{kgo.Dialer(way.dial)}
	inside, stopped := make(chan struct{}), make(chan error, 1)
	zombie := work(t.Context(), t, pool, env, topic, "zombie", cfg, func(ctx context.Context, _ *message.Message) error {
		close(inside)
		<-ctx.Done()
		stopped <- context.Cause(ctx)
		return context.Cause(ctx)
	})
	await(t, inside, "the zombie's handler runs")
	heir := work(t.Context(), t, pool, env, topic, "heir", brisk(), func(context.Context, *message.Message) error {
		select {
		case cause := <-stopped:
			stopped <- cause
		default:
			t.Error("the heir runs the message while the zombie's handler does")
		}
		return nil
	})
	way.fallSilent()
	heir.ends.await(t, inbox.OutcomeCommitted, 1)
	require.ErrorIs(t, await(t, stopped, "the zombie's context ends"), kafkasource.ErrSessionLost)
	zombie.parts.await(t, lost, 1)
	zombie.stop()
	heir.stop()
	require.Equal(t, [2]int{1, 1}, effects(t, pool))
	require.Zero(t, zombie.ends.counts[inbox.OutcomeCommitted])
}

// TestI8_ExpelledMemberStops: a member that the group has thrown out cancels its
// handlers, commits nothing, and joins again, whether a commit or a heartbeat is the
// first to learn of it.
func TestI8_ExpelledMemberStops(t *testing.T) {
	t.Parallel()
	for name, interval := range map[string]time.Duration{"commit": time.Millisecond, "heartbeat": time.Hour} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := brisk()
			cfg.CommitInterval = interval
			expelled(t, cfg)
		})
	}
}

func expelled(t *testing.T, cfg kafkasource.Config) {
	t.Helper()
	env, pool := testenv.RealKafka(t), database(t)
	topic, group := env.Topic(t, "expelled", 1), env.Name("group")
	writer := client(t, env.Brokers)
	require.NoError(t, writer.ProduceSync(t.Context(), record(topic, 0, "1", "k")).FirstErr())
	runs, causes := make(chan struct{}, 10), make(chan error, 10)
	var once sync.Once
	w := work(t.Context(), t, pool, env, topic, "w", cfg, func(ctx context.Context, _ *message.Message) error {
		runs <- struct{}{}
		first := false
		once.Do(func() { first = true })
		if !first {
			return nil
		}
		<-ctx.Done()
		causes <- context.Cause(ctx)
		return nil // it does not notice; the inbox does
	})
	await(t, runs, "the handler runs")
	expel(t, writer, group)
	require.ErrorIs(t, await(t, causes, "its context ends"), kafkasource.ErrSessionLost)
	w.parts.await(t, lost, 1)
	w.ends.await(t, inbox.OutcomeCommitted, 1)
	w.stop()
	require.Equal(t, [2]int{1, 1}, effects(t, pool))
	require.Equal(t, 1, w.ends.counts[inbox.OutcomeFailed])
	require.EqualValues(t, 1, committed(t, env.Brokers, group, topic, 0))
}

// expel removes all members of a group.
func expel(t *testing.T, c *kgo.Client, group string) {
	t.Helper()
	groups, err := kadm.NewClient(c).DescribeGroups(t.Context(), group)
	require.NoError(t, err)
	members := groups[group].Members
	require.NotEmpty(t, members)
	for _, m := range members {
		req := kmsg.NewPtrLeaveGroupRequest()
		req.Group, req.MemberID = group, m.MemberID
		leaving := kmsg.NewLeaveGroupRequestMember()
		leaving.MemberID = m.MemberID
		req.Members = append(req.Members, leaving)
		resp, err := req.RequestWith(t.Context(), c)
		require.NoError(t, err)
		require.Zero(t, resp.ErrorCode)
		for _, left := range resp.Members {
			require.Zero(t, left.ErrorCode)
		}
	}
}

// TestI3_BrokerRestart: what was acked stays acked, what was not comes again, and
// the member goes on when the broker is back.
//
//leat:level 4
func TestI3_BrokerRestart(t *testing.T) {
	t.Parallel()
	testenv.Long(t, "starts a broker twice")
	server := testenv.PrivateKafka(t)
	writer, err := kgo.NewClient(kgo.SeedBrokers(server.Brokers...), kgo.AllowAutoTopicCreation())
	require.NoError(t, err)
	defer writer.Close()
	write := func(id string) {
		require.NoError(t, writer.ProduceSync(t.Context(), record("events", 0, id, "k")).FirstErr())
	}
	write("1")
	msgs := subscribe(t, newSubscriber(t, server.Brokers, "g", brisk()), "events")
	msg := receive(t, msgs)
	require.Equal(t, "1", msg.UUID)
	msg.Ack()
	server.Kill()
	server.Start()
	write("2")
	timeout := time.After(patience)
	for {
		select {
		case msg := <-msgs:
			msg.Ack()
			if msg.UUID == "2" {
				return
			}
		case <-timeout:
			require.Fail(t, "nothing comes after the restart")
		}
	}
}
