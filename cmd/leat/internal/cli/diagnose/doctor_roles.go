package diagnose

import (
	"slices"
	"strings"

	"github.com/leat-go/leat/cmd/leat/internal/cli/command"
	"github.com/leat-go/leat/cmd/leat/internal/doctor"
	"github.com/leat-go/leat/cmd/leat/internal/open"
	"github.com/leat-go/leat/cmd/leat/internal/settings"
)

// roles parses the values of --role. A name may contain =, a use does not.
func (c *Doctor) roles() ([]open.Role, error) {
	var all []open.Role
	for _, text := range c.Role {
		i := strings.LastIndex(text, "=")
		if i < 1 || !slices.Contains(open.Uses(), text[i+1:]) {
			return nil, command.Usage("--role", text, "must be ROLE=USE, with one of "+strings.Join(open.Uses(), ", "))
		}
		all = append(all, open.Role{Name: text[:i], Use: text[i+1:]})
	}
	return all, nil
}

// redisChecks adds no checks if Redis is not configured.
func (c *Doctor) redisChecks(d *command.Deps, all []doctor.Check) ([]doctor.Check, error) {
	address, from := c.Redis, "--redis"
	if settings.HasPassword(address) {
		return nil, command.Usage(from, settings.Redact(address), "must not have a password, which others could see: use LEAT_REDIS_URL")
	}
	if address == "" {
		from = "LEAT_REDIS_URL"
		address, _ = d.Process.LookupEnv(from)
	}
	if address == "" {
		return all, nil
	}
	checks, err := open.RedisChecks(address)
	if err != nil {
		return nil, command.Usage(from, settings.Redact(address), err.Error())
	}
	return append(all, checks...), nil
}
