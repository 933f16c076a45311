package schema

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/leat-go/leat/cmd/leat/internal/ask"
	"github.com/leat-go/leat/cmd/leat/internal/cli/command"
	"github.com/leat-go/leat/cmd/leat/internal/open"
	"github.com/leat-go/leat/cmd/leat/internal/show"
)

// Debezium are the commands that switch from a connector to a relay, and back.
type Debezium struct {
	ToLeat   DebeziumToLeat   `cmd:"" name:"to-leat" help:"Prepare a relay group to replace a connector, and wait until the connector may be stopped."`
	FromLeat DebeziumFromLeat `cmd:"" name:"from-leat" help:"Prepare a connector to replace a relay group, and wait until the relay may be stopped."`
	DropSlot DebeziumDropSlot `cmd:"" name:"drop-slot" help:"Drop the replication slot of a connector that is stopped."`
}

// Connector are the flags of all three commands.
type Connector struct {
	command.Changing

	Connector string `required:"" placeholder:"FILE" help:"The connector's configuration, as JSON." predictor:"file"`
	Group     string `default:"default" placeholder:"GROUP" help:"Relay group." predictor:"group"`
}

// DebeziumToLeat is debezium to-leat.
type DebeziumToLeat struct{ Connector }

// DebeziumFromLeat is debezium from-leat.
type DebeziumFromLeat struct{ Connector }

// DebeziumDropSlot is debezium drop-slot.
type DebeziumDropSlot struct{ Connector }

// Run prepares the group.
func (c *DebeziumToLeat) Run(d *command.Deps) error {
	h, err := c.open(d)
	if err != nil {
		return err
	}
	if _, err := h.MayPrepare(d.Context); err != nil {
		return err
	}
	leavesOut, err := h.LeavesOut(d.Context)
	if err != nil {
		return err
	}
	would := fmt.Sprintf("have group %s begin now", show.Plain(c.Group))
	if leavesOut > 0 {
		would += fmt.Sprintf(", and leave out %s that it has not sent: right if the connector sends them, and a loss if they are another's",
			show.Things(leavesOut, "message"))
	}
	if !h.Own {
		would = fmt.Sprintf("have the rows of %s written into the outbox, by triggers, and group %s begin now if it is new",
			show.Plain(h.Table), show.Plain(c.Group))
	}
	next := fmt.Sprintf("Stop the connector, start the relay, then drop the slot: leat debezium drop-slot --connector %s.", show.Plain(c.File()))
	return c.run(d, step{Action: "to-leat", LeavesOut: leavesOut, would: would, next: next, do: func() error {
		position, err := h.Prepare(d.Context)
		if err != nil {
			return err
		}
		d.Note("Waiting until the connector has confirmed %s. If nothing is written, stop it.", position)
		return h.AwaitConnector(d.Context, position)
	}}, h)
}

// Run prepares the connector.
func (c *DebeziumFromLeat) Run(d *command.Deps) error {
	h, err := c.open(d)
	if err != nil {
		return err
	}
	if err := h.MayPrepareConnector(d.Context); err != nil {
		return err
	}
	would := "make publication and slot " + show.Plain(h.Slot)
	if !h.Own {
		would += ", and remove the triggers of " + show.Plain(h.Table)
	}
	next := "Stop the relay, unless it has other messages to send, and start the connector under a new name."
	return c.run(d, step{Action: "from-leat", would: would, next: next, do: func() error {
		if err := h.PrepareConnector(d.Context); err != nil {
			return err
		}
		d.Note("Waiting until group %s has sent what is before the slot.", show.Plain(c.Group))
		return h.AwaitRelay(d.Context)
	}}, h)
}

// Run drops the slot.
func (c *DebeziumDropSlot) Run(d *command.Deps) error {
	h, err := c.open(d)
	if err != nil {
		return err
	}
	state, err := h.SlotState(d.Context)
	if err != nil {
		return err
	}
	would := fmt.Sprintf("drop slot %s, which has confirmed %s and is %s bytes behind",
		show.Plain(h.Slot), state.Confirmed, show.Count(state.BehindBytes))
	return c.run(d, step{Action: "drop-slot", would: would, next: "Delete the connector.", do: func() error { return h.DropSlot(d.Context) }}, h)
}

// File is the path of the connector's configuration.
func (c *Connector) File() string { return c.Connector }

// open reads the connector's configuration, in the form that Kafka Connect accepts, or with the connector's
// name around it.
func (c *Connector) open(d *command.Deps) (*open.Handoff, error) {
	text, err := os.ReadFile(c.Connector)
	if err != nil {
		return nil, command.Usage("--connector", c.Connector, err.Error())
	}
	var named struct {
		Config map[string]string `json:"config"`
	}
	if err := json.Unmarshal(text, &named); err != nil || named.Config == nil {
		if err := json.Unmarshal(text, &named.Config); err != nil {
			return nil, command.Usage("--connector", c.Connector, "must hold a JSON object of texts: "+err.Error())
		}
	}
	by, err := d.By(c.Changing)
	if err != nil {
		return nil, err
	}
	db, err := d.OpenFor(open.Target{Group: c.Group})
	handoffs, err := command.Capable[open.Handoffs](d, db, err, "take Debezium's place")
	if err != nil {
		return nil, err
	}
	return handoffs.Handoff(open.HandoffRequest{By: by, Connector: named.Config, Group: c.Group})
}

// step is the JSON of a step.
type step struct {
	Action string `json:"action"`
	DryRun bool   `json:"dry_run"`
	Group  string `json:"group"`
	Table  string `json:"table"`
	Slot   string `json:"slot"`
	// LeavesOut is how many unsent messages the group will never send.
	LeavesOut int64 `json:"leaves_out"`

	would, next string
	do          func() error
}

// run asks for confirmation, takes the step, and prints the next one.
func (c *Connector) run(d *command.Deps, s step, h *open.Handoff) error {
	s.DryRun, s.Group, s.Table, s.Slot = c.DryRun, c.Group, h.Table, h.Slot
	said := "Would " + s.would + "."
	if !c.DryRun {
		question := ask.Question{Text: said}
		if s.LeavesOut > 0 {
			question.Name = c.Group
		}
		if err := d.Confirm(c.Changing, question); err != nil {
			return err
		}
		if err := s.do(); err != nil {
			return err
		}
		said = "Done. " + s.next
	}
	if d.Format != show.Table {
		return d.Document(s)
	}
	return d.Paragraph("%s", said)
}
