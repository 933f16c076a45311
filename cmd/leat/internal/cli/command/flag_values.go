package command

import (
	"net"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/leat-go/leat/cmd/leat/internal/settings"
)

// CheckBrokers rejects a list of --brokers without a broker.
func CheckBrokers(list string) error {
	if list == "" {
		return nil
	}
	brokers := settings.List(list)
	for _, broker := range brokers {
		if host, port, err := net.SplitHostPort(broker); err != nil || host == "" || port == "" {
			return Usage("--brokers", list, "must be host:port, separated by commas")
		}
	}
	if len(brokers) == 0 {
		return Usage("--brokers", list, "names no broker")
	}
	return nil
}

var kafkaTopic = regexp.MustCompile(`^[a-zA-Z0-9._-]{1,249}$`)

// CheckTopic rejects names that a topic of Kafka cannot have.
func CheckTopic(flag, name string) error {
	if !kafkaTopic.MatchString(name) || name == "." || name == ".." {
		return Usage(flag, name, "must be the name of a topic of Kafka: 1 to 249 of a-z, A-Z, 0-9, dot, _ and -")
	}
	return nil
}

// longestName is PostgreSQL's limit for names, in bytes. It would truncate longer ones.
const longestName = 63

// checkNames rejects names that schemas and tables cannot have.
func checkNames(s settings.Settings) error {
	for _, name := range []settings.Text{s.Schema, s.Outbox, s.Inbox, s.Dedupe} {
		hidden := strings.ContainsFunc(name.Value, func(r rune) bool { return !unicode.IsPrint(r) })
		if len(name.Value) > longestName || !utf8.ValidString(name.Value) || hidden {
			return Usage(name.From, name.Value, "must be a name of at most 63 bytes that print")
		}
	}
	return nil
}
