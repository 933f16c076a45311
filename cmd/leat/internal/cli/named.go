package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/leat-go/leat/cmd/leat/internal/settings"
	"github.com/leat-go/leat/outbox/admin"
)

// takesOutbox reports whether a command is about one outbox of the file, if the file has some.
func takesOutbox(command string) bool {
	noun, _, _ := strings.Cut(command, " ")
	return !slices.Contains([]string{"run", "relay", "health", "config", "completion", "version"}, noun)
}

// outboxNames are those of the file.
func (d *Deps) outboxNames() []string {
	if d.file == nil {
		return nil
	}
	_, profile := d.fileAndProfile()
	return d.file.OutboxNames(profile)
}

// nameOutbox puts the place of an outbox of the file into the settings: that of the name which
// --outbox or LEAT_OUTBOX has, or the only one.
func (d *Deps) nameOutbox() error {
	names := d.outboxNames()
	if len(names) == 0 {
		return nil
	}
	asked := d.globals.settings().Or(settings.FromEnv(d.process.LookupEnv)).Outbox
	_, profile := d.fileAndProfile()
	switch {
	case slices.Contains(names, asked.Value):
	case asked.Set() && asked.Value != settings.Defaults(d.settings.Database.Value).Outbox.Value && !d.file.HasTable(profile, asked.Value) &&
		asked.Value != d.file.Outbox.Value:
		return usage(asked.From, asked.Value, fmt.Sprintf("is no outbox of the file, which has %q", names))
	case asked.Set() || len(names) > 1 || d.file.Outbox.Set():
		return nil
	default:
		asked.Value = names[0]
	}
	s, err := d.settingsOf(asked.Value)
	if err == nil {
		d.settings, d.named = s, asked.Value
	}
	return err
}

// settingsOf returns the settings with the place of an outbox of the file.
func (d *Deps) settingsOf(name string) (settings.Settings, error) {
	_, profile := d.fileAndProfile()
	o, err := d.file.OutboxOf(profile, name, d.process.LookupEnv)
	if err != nil {
		return settings.Settings{}, err
	}
	base, err := d.withoutName()
	return base.Of(o), err
}

// withoutName returns the settings as if nobody had named an outbox.
func (d *Deps) withoutName() (settings.Settings, error) {
	_, profile := d.fileAndProfile()
	said, err := d.file.SettingsOf(profile, d.process.LookupEnv)
	if err != nil {
		return said, err
	}
	s := d.globals.settings().Or(settings.FromEnv(d.process.LookupEnv))
	s.Outbox = settings.Text{}
	s = s.Or(said)
	return s.Or(settings.Defaults(s.Database.Value)), nil
}

var errNoOutboxes = usageError{errors.New("--all: the file names no outboxes")}

// eachOutbox calls do for each outbox of the file, with its place, and returns all errors.
func (d *Deps) eachOutbox(do func(name string, sub *Deps) error) error {
	names := d.outboxNames()
	if len(names) == 0 {
		return errNoOutboxes
	}
	var all []error
	for _, name := range names {
		s, err := d.settingsOf(name)
		if err == nil {
			err = d.at(s, func(sub *Deps) error {
				sub.named = name
				return do(name, sub)
			})
		}
		if err != nil && !errors.Is(err, errFindings) {
			err = fmt.Errorf("outbox %s: %w", name, err)
		}
		all = append(all, err)
	}
	return errors.Join(all...)
}

// at calls do with other settings.
func (d *Deps) at(s settings.Settings, do func(sub *Deps) error) error {
	sub := *d
	sub.settings, sub.database, sub.cancel = s, nil, func() {}
	defer sub.Close()
	return do(&sub)
}

// outboxesOfFile opens all outboxes of the file, until d is closed.
func (d *Deps) outboxesOfFile() (map[string]admin.Outbox, error) {
	all := make(map[string]admin.Outbox)
	for _, name := range d.outboxNames() {
		s, err := d.settingsOf(name)
		if err != nil {
			return nil, err
		}
		sub := *d
		sub.settings, sub.database, sub.cancel = s, nil, func() {}
		d.also = append(d.also, &sub)
		if all[name], err = sub.Store(""); err != nil {
			return nil, fmt.Errorf("outbox %s: %w", name, err)
		}
	}
	return all, nil
}
