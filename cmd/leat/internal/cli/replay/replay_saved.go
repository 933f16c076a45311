package replay

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/leat-go/leat/cmd/leat/internal/cli/command"
	"github.com/leat-go/leat/outbox/relay"
)

// savedReplay is the content of the file of --resume.
type savedReplay struct {
	V int `json:"v"`
	// Selection is what was replayed. The position is valid for this selection only.
	Selection selectionRow `json:"selection"`
	Position  string       `json:"position"`
	LastSeq   int64        `json:"last_seq"`
	Sent      int64        `json:"sent"`
	Done      bool         `json:"done"`
}

type selectionRow struct {
	From   time.Time `json:"from,omitzero"`
	To     time.Time `json:"to,omitzero"`
	Topics []string  `json:"topics,omitempty"`
	Keys   []string  `json:"keys,omitempty"`
	IDs    []string  `json:"ids,omitempty"`
	Group  string    `json:"group"`
	// ToTopic and Brokers are the destination.
	ToTopic string `json:"to_topic,omitempty"`
	Brokers string `json:"brokers"`
}

func (s selectionRow) equal(other selectionRow) bool {
	return s.From.Equal(other.From) && s.To.Equal(other.To) && s.Group == other.Group && s.ToTopic == other.ToTopic &&
		slices.Equal(s.Topics, other.Topics) && slices.Equal(s.Keys, other.Keys) && slices.Equal(s.IDs, other.IDs)
}

func (r *Replay) selectionRow(brokers string) selectionRow {
	return selectionRow{
		From: command.UTC(r.From.Time), To: command.UTC(r.To.Time), Topics: r.Topic, Keys: r.Key, IDs: r.ID, Group: r.Group, ToTopic: r.ToTopic, Brokers: brokers,
	}
}

// saved reads the file of --resume. If it does not exist, the replay begins at the start.
func (r *Replay) saved(brokers string) (savedReplay, error) {
	fresh := savedReplay{V: 1, Selection: r.selectionRow(brokers)}
	if r.Resume == "" {
		return fresh, nil
	}
	content, err := os.ReadFile(r.Resume)
	if errors.Is(err, fs.ErrNotExist) {
		return fresh, nil
	}
	var saved savedReplay
	if err == nil {
		err = json.Unmarshal(content, &saved)
	}
	switch {
	case err != nil:
		return saved, command.Usage("--resume", r.Resume, err.Error())
	case saved.V != 1:
		return saved, command.Usage("--resume", r.Resume, fmt.Sprintf("is of version %d, not 1", saved.V))
	case saved.Done:
		return saved, command.Usage("--resume", r.Resume, "that replay has come to its end: remove the file to begin anew")
	}
	// A time that was given as a duration ago is another time today, so the saved one counts.
	if r.From.Relative {
		fresh.Selection.From, r.From.Time = saved.Selection.From, saved.Selection.From
	}
	if r.To.Relative {
		fresh.Selection.To, r.To.Time = saved.Selection.To, saved.Selection.To
	}
	if !saved.Selection.equal(fresh.Selection) {
		return saved, command.Usage("--resume", r.Resume, "is of a replay with other --from, --to, --topic, --key, --id, --group or --to-topic")
	}
	if saved.Selection.Brokers != brokers && !r.DryRun {
		return saved, command.Usage("--resume", r.Resume, fmt.Sprintf("is of a replay to brokers %s, not %s", saved.Selection.Brokers, brokers))
	}
	return saved, nil
}

// save replaces the file of --resume as a whole, so that a crash leaves either the old file or the new one.
func (r *Replay) save(report relay.ReplayReport, before savedReplay) error {
	if r.Resume == "" || report.Position == "" {
		return nil
	}
	before.Position, before.Done = report.Position, report.Done
	before.LastSeq = max(before.LastSeq, report.LastSeq)
	before.Sent += report.Sent
	content, err := json.Marshal(before)
	if err != nil {
		return err
	}
	file, err := os.CreateTemp(filepath.Dir(r.Resume), ".leat-replay-*")
	if err != nil {
		return fmt.Errorf("--resume %q: %w", r.Resume, err)
	}
	defer os.Remove(file.Name())
	_, err = file.Write(append(content, '\n'))
	if syncErr := file.Sync(); err == nil {
		err = syncErr
	}
	if closeErr := file.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(file.Name(), r.Resume)
	}
	if err != nil {
		return fmt.Errorf("--resume %q: %w", r.Resume, err)
	}
	return nil
}
