package chaos

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/leat-go/leat/internal/proof/chaos/roles"
	"github.com/leat-go/leat/internal/wait"
)

// topicMadeAgain deletes the topic of transfers once all of it was consumed, and creates it again, under
// running relays and consumers.
func (in *injection) topicMadeAgain(ctx context.Context, f *fault) error {
	bank := in.processes.of(roles.Bank)
	holdAll(bank)
	defer releaseAll(bank)
	in.clears(ctx, "messages before the topic is deleted", goOnWithin, bounded(in.ground().toSend))
	in.clears(ctx, "messages in the topic that is deleted", goOnWithin, func(ctx context.Context) (int64, error) {
		return in.stage.behind(ctx, roles.Ledger, roles.TopicTransfers)
	})
	if err := in.stage.retire(ctx, roles.TopicTransfers); err != nil {
		return err
	}
	admin := kadm.NewClient(in.stage.client)
	for {
		_, err := admin.CreateTopic(ctx, transferPartitions, 1, bankTopic(), roles.TopicTransfers)
		if err == nil {
			break
		}
		if !errors.Is(err, kerr.TopicAlreadyExists) {
			return fmt.Errorf("make the topic again: %w", err)
		}
		wait.Full(ctx, 50*time.Millisecond) // the old topic is not gone yet
	}
	f.consequence = "made again"
	return nil
}
