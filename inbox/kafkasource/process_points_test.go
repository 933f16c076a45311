package kafkasource_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/leat-go/leat/internal/failpoint"
	"github.com/leat-go/leat/internal/failpoint/failpointtest"
	"github.com/leat-go/leat/internal/faultnet"
	"github.com/leat-go/leat/internal/testenv"
)

// waiting is the number of messages that wait for a consumer.
const waiting = 6

// requireConsumed waits until the group has consumed all messages, and checks that each
// has had its effect once.
func requireConsumed(t *testing.T, env *testenv.KafkaEnv, pool *pgxpool.Pool, topic string) {
	t.Helper()
	require.Eventually(t, func() bool {
		return committed(t, env.Brokers, env.Name("group"), topic, 0) == waiting
	}, patience, 100*time.Millisecond)
	require.Equal(t, [2]int{waiting, waiting}, effects(t, pool))
}

// TestI1_ProcessDiesAtEveryPoint ends a consumer's process at each of its points, and
// has it panic where no middleware could catch that. Another member goes on: each
// message has its effect once.
//
//leat:level 4
func TestI1_ProcessDiesAtEveryPoint(t *testing.T) {
	t.Parallel()
	points := []failpoint.Name{
		failpoint.ConsumerAfterReceive, failpoint.ConsumerAttemptWrite, failpoint.ConsumerAfterTrylock,
		failpoint.ConsumerAfterClaim, failpoint.ConsumerPanic, failpoint.ConsumerMidHandler, failpoint.ConsumerBeforeCommit,
		failpoint.ConsumerCommitAmbiguous, failpoint.ConsumerAfterCommitBeforeAck, failpoint.ConsumerAckLost,
		failpoint.ConsumerRebalanceMidHandler,
	}
	deaths := map[string]int{
		string(failpoint.ConsumerRebalanceMidHandler) + "=panic": 2, string(failpoint.ConsumerAckLost) + "=panic": 2,
	}
	for _, point := range points {
		deaths[string(point)+"=exit"] = failpointtest.ExitStatus
	}
	for death, status := range deaths {
		t.Run(death, func(t *testing.T) {
			t.Parallel()
			env, db := testenv.RealKafka(t), testenv.Postgres(t)
			pool := prepare(t, db)
			topic := env.Topic(t, "dying", 1)
			fill(t, env, topic, waiting, 2)
			child := exec.CommandContext(t.Context(), os.Args[0])
			child.Env = append(os.Environ(), envConsumerDatabase+"="+db.URL, envConsumerBrokers+"="+strings.Join(env.Brokers, ","),
				envConsumerTopic+"="+topic, envConsumerGroup+"="+env.Name("group"), fmt.Sprintf("%s=%s@3", failpointtest.EnvPoints, death))
			output, err := child.CombinedOutput()
			exit, ok := errors.AsType[*exec.ExitError](err)
			require.True(t, ok, "%v %s", err, output)
			require.Equal(t, status, exit.ExitCode(), "%s", output)
			done := effects(t, pool)[1]
			require.Less(t, done, waiting, "there was something left to do")
			expel(t, client(t, env.Brokers), env.Name("group")) // sooner than the session ends
			heir := work(t.Context(), t, pool, env, topic, "heir", brisk(), easy)
			requireConsumed(t, env, pool, topic)
			heir.stop()
			t.Logf("%d of %d had their effect when the process died", done, waiting)
		})
	}
}

// TestI1_EveryKindMidHandler lets something happen to a member while its handlers run,
// at the moment at which a rebalance would be worst. The member goes on, or the next
// one does.
//
//leat:level 4
func TestI1_EveryKindMidHandler(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"error", "cancel", "cut"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			env, db, points, wires := testenv.RealKafka(t), testenv.Postgres(t), &failpointtest.Registry{}, &faultnet.Lines{}
			pool := prepare(t, db)
			cut, err := pgxpool.New(t.Context(), db.URL+"&application_name=first") // apart from what the test looks with
			require.NoError(t, err)
			t.Cleanup(cut.Close)
			topic := env.Topic(t, "mid-handler", 1)
			fill(t, env, topic, waiting, 2)
			ctx, cancel := context.WithCancel(failpointtest.With(t.Context(), points))
			defer cancel()
			action := map[string]failpointtest.Action{
				"error":  failpointtest.Error(nil), // the partition is taken away
				"cancel": failpointtest.Cancel(cancel),
				"cut": failpointtest.Call(func(context.Context) error {
					wires.Cut()
					_, err := pool.Exec(context.Background(), "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"+
						" WHERE datname = current_database() AND application_name = 'first'")
					return err
				}),
			}[kind]
			require.NoError(t, points.EnableAt(failpoint.ConsumerRebalanceMidHandler, 3, action))
			cfg := brisk()
			cfg.Options = []kgo.Opt{kgo.Dialer(wires.Dial)}
			first := work(ctx, t, cut, env, topic, "first", cfg, easy)
			await(t, points.Reached(failpoint.ConsumerRebalanceMidHandler, 3), "the point is reached")
			if kind == "cut" {
				requireConsumed(t, env, pool, topic)
			}
			first.stop()
			second := work(t.Context(), t, pool, env, topic, "second", brisk(), easy)
			requireConsumed(t, env, pool, topic)
			second.stop()
		})
	}
}
