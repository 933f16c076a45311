package pgwatermark_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	osexec "os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/inbox/pgwatermark"
)

// The environment of a member in a process of its own.
const (
	envMemberDatabase = "LEAT_TEST_MEMBER_DATABASE"
	envMemberBrokers  = "LEAT_TEST_MEMBER_BROKERS"
	envMemberGroup    = "LEAT_TEST_MEMBER_GROUP"
	envMemberTopic    = "LEAT_TEST_MEMBER_TOPIC"
	envMemberInstance = "LEAT_TEST_MEMBER_INSTANCE"
)

// memberProcess is the whole of such a process. It says where it is, in the handler
// and after the commit, and goes on when it is told to.
func memberProcess() error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	pool, err := pgxpool.New(ctx, os.Getenv(envMemberDatabase))
	if err != nil {
		return err
	}
	defer pool.Close()
	topic := os.Getenv(envMemberTopic)
	w, err := pgwatermark.New(pool, "c", []string{topic}, pgwatermark.Config{Config: inbox.Config{BusyDelay: 5 * time.Millisecond}})
	if err != nil {
		return err
	}
	var mu sync.Mutex
	told := bufio.NewScanner(os.Stdin)
	say := func(what string, p driver.Position) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Printf("%s %d/%d\n", what, p.Partition, p.Offset)
		if !told.Scan() {
			cancel() // the test is over
		}
	}
	m, err := newMember(strings.Split(os.Getenv(envMemberBrokers), ","), os.Getenv(envMemberGroup), topic, w,
		func(ctx context.Context, p driver.Position) (inbox.Outcome, error) {
			outcome, err := processAt(ctx, w, p, func(ctx context.Context) error {
				err := placeOf(p)(ctx)
				say("handling", p)
				return err
			})
			if outcome == inbox.OutcomeCommitted {
				say("committed", p)
			}
			return outcome, err
		},
		kgo.InstanceID(os.Getenv(envMemberInstance)))
	if err != nil {
		return err
	}
	defer m.close()
	return m.run(ctx)
}

// child is a member in a process of its own.
type child struct {
	cmd   *osexec.Cmd
	in    io.WriteCloser
	lines chan string // closed when it has ended
}

func (s *wmStage) spawn(instance string) (*child, error) {
	c := &child{cmd: osexec.Command(os.Args[0]), lines: make(chan string)}
	c.cmd.Env = append(os.Environ(), envMemberDatabase+"="+s.db.URL, envMemberTopic+"="+s.topic, envMemberGroup+"="+s.group,
		envMemberBrokers+"="+strings.Join(s.broker.Brokers, ","), envMemberInstance+"="+instance)
	c.cmd.Stderr = os.Stderr
	in, inErr := c.cmd.StdinPipe()
	out, outErr := c.cmd.StdoutPipe()
	if err := errors.Join(inErr, outErr); err != nil {
		return nil, err
	}
	c.in = in
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		defer close(c.lines)
		for scan := bufio.NewScanner(out); scan.Scan(); {
			c.lines <- scan.Text()
		}
	}()
	return c, nil
}

// kill ends the process by SIGKILL and waits until it is gone.
func (c *child) kill() {
	_ = c.cmd.Process.Kill() // it may have ended already
	for range c.lines {      // until it has
	}
	_ = c.cmd.Wait() // killed
}

// TestI8_KilledBetweenCommitAndAck kills members of a group in the handler, and
// between the commit and the ack. No offset is ever committed to the broker: the
// database says where to read on.
//
//leat:level 4
func TestI8_KilledBetweenCommitAndAck(t *testing.T) {
	t.Parallel()
	const partitions, messages, killEach = 4, 80, 19
	s := newWMStage(t, partitions)
	watchMoves(t, s.db)
	s.produce(t, messages, partitions)
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()

	var mu sync.Mutex
	seen, kills := map[string]int{}, map[string]int{}
	// heard notes a line, and reports whether its sender is to be killed.
	heard := func(line string) bool {
		mu.Lock()
		defer mu.Unlock()
		what, _, _ := strings.Cut(line, " ")
		seen[what]++
		if seen[what]%killEach != 0 {
			return false
		}
		kills[what]++
		return true
	}
	var members sync.WaitGroup
	for _, instance := range []string{"one", "two"} {
		members.Go(func() {
			for ctx.Err() == nil {
				if err := s.lead(ctx, instance, heard); err != nil {
					t.Errorf("member %s: %v", instance, err)
					return
				}
			}
		})
	}
	s.awaitEffects(ctx, t, messages)
	cancel()
	members.Wait()

	all, distinct := countEffects(t, s.db)
	require.Equal(t, []int{messages, messages}, []int{all, distinct})
	s.requireNothingCommitted(t)
	require.Positive(t, kills["handling"])
	require.Positive(t, kills["committed"])
	t.Logf("killed in the handler: %d, between commit and ack: %d", kills["handling"], kills["committed"])
}

// awaitEffects waits until there are count different ones. A member may be killed
// before it has said that it has committed, so the database is asked.
func (s *wmStage) awaitEffects(ctx context.Context, t *testing.T, count int) {
	t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for distinct := 0; distinct < count; {
		select {
		case <-tick.C:
			_, distinct = countEffects(t, s.db)
		case <-ctx.Done():
			require.Fail(t, "messages are missing", "%d of %d", count-distinct, count)
		}
	}
}

// lead starts a member and lets it go on until it is to be killed.
func (s *wmStage) lead(ctx context.Context, instance string, heard func(line string) bool) error {
	c, err := s.spawn(instance)
	if err != nil {
		return err
	}
	defer c.kill()
	for {
		select {
		case line, ok := <-c.lines:
			if !ok {
				return errors.New("it has ended by itself")
			}
			if heard(line) {
				return nil
			}
			if _, err := fmt.Fprintln(c.in); err != nil {
				return err
			}
		case <-ctx.Done():
			return nil
		}
	}
}
