package cli

import (
	"net"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/leat-go/leat/cmd/leat/internal/settings"
)

// Validate refuses blanks in the place of a reason or an actor, before anything is opened.
func (c Changing) Validate() error {
	for flag, value := range map[string]string{"--reason": c.Reason, "--actor": c.Actor} {
		if value != "" && strings.TrimSpace(value) == "" {
			return usage(flag, value, "must not be blank")
		}
	}
	return nil
}

// checkBrokers refuses a list of --brokers that names none.
func checkBrokers(list string) error {
	if list == "" {
		return nil
	}
	brokers := settings.List(list)
	for _, broker := range brokers {
		if host, port, err := net.SplitHostPort(broker); err != nil || host == "" || port == "" {
			return usage("--brokers", list, "must be host:port, separated by commas")
		}
	}
	if len(brokers) == 0 {
		return usage("--brokers", list, "names no broker")
	}
	return nil
}

var kafkaTopic = regexp.MustCompile(`^[a-zA-Z0-9._-]{1,249}$`)

// checkTopic refuses what cannot be the name of a topic of Kafka.
func checkTopic(flag, name string) error {
	if !kafkaTopic.MatchString(name) || name == "." || name == ".." {
		return usage(flag, name, "must be the name of a topic of Kafka: 1 to 249 of a-z, A-Z, 0-9, dot, _ and -")
	}
	return nil
}

// longestName is PostgreSQL's bound of names, in bytes; longer ones would be cut.
const longestName = 63

// checkNames refuses what cannot be the names of schemas and tables.
func checkNames(s settings.Settings) error {
	for _, name := range []settings.Text{s.Schema, s.Outbox, s.Inbox, s.Dedupe} {
		hidden := strings.ContainsFunc(name.Value, func(r rune) bool { return !unicode.IsPrint(r) })
		if len(name.Value) > longestName || !utf8.ValidString(name.Value) || hidden {
			return usage(name.From, name.Value, "must be a name of at most 63 bytes that print")
		}
	}
	return nil
}
