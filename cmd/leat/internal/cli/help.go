package cli

import (
	"strings"

	"github.com/alecthomas/kong"

	"github.com/leat-go/leat/cmd/leat/internal/cli/command"
	"github.com/leat-go/leat/cmd/leat/internal/show"
)

// helpWidth is the width of the first sentence of a help text.
const helpWidth = 100

// help prints the description of the command first.
func help(options kong.HelpOptions, ctx *kong.Context) error {
	node := ctx.Model.Node
	if selected := ctx.Selected(); selected != nil {
		node = selected
	}
	p := show.Printer{Out: ctx.Stdout, Width: helpWidth}
	if columns := command.Width(ctx.Stdout); columns > 0 {
		p.Width = min(columns, helpWidth)
	}
	for _, line := range p.Wrap(node.Help, "", "") {
		if err := p.Line("%s", line); err != nil {
			return err
		}
	}
	if err := p.Line(""); err != nil {
		return err
	}
	node.Help = ""
	return kong.DefaultHelpPrinter(options, ctx)
}

// layOut lists a command's examples first, then its own flags, then the flags of all commands.
func layOut(parser *kong.Kong) error {
	for _, flag := range parser.Model.Flags {
		flag.Group = &kong.Group{Key: "all", Title: "Flags of all commands:"}
	}
	for _, leaf := range parser.Model.Leaves(true) {
		if lines := Examples(leaf); len(lines) > 0 {
			leaf.Detail = "Examples:\n\n    leat " + strings.Join(lines, "\n    leat ")
		}
	}
	return nil
}

// Examples are the example lines of a command, without the word leat.
func Examples(leaf *kong.Node) (lines []string) {
	command := strings.TrimPrefix(leaf.FullPath(), "leat ")
	for line := range strings.Lines(examples) {
		line = strings.TrimSuffix(line, "\n")
		if line == command || strings.HasPrefix(line, command+" ") {
			lines = append(lines, line)
		}
	}
	return lines
}

// examples has at least one line for each command.
//
//nolint:dupword // a line may end as the next one begins
const examples = `run --config leat.yaml
relay --brokers k1:9092 --group default
health --live
status
status --watch
status --all --summary
explain
explain order-7
bundle leat-bundle.txt
trace 0190c6e2-7c1d-7e8e-9a44-5d2f0c7b1e90
trace order-7-placed --since 24h
doctor --strict
doctor --only 'outbox.*'
prove
prove --only 'locks.*' --output json
prove --workload 5m
groups list
groups show default
groups pause default --topic 'mails*' --reason 'INC-42'
groups resume default --reason 'INC-42 is over'
groups set-max-lag audit 168h --reason 'the archive may miss some'
groups set-topics audit --topic 'orders*' --reason 'mails are sent by another group' --dry-run
groups rename audit archive --reason 'it archives' --dry-run
groups remove audit --reason 'nobody reads it' --dry-run
parked list --topic 'orders*'
parked keys
parked errors
parked show 0190c6e2-7c1d-7e8e-9a44-5d2f0c7b1e90
parked redrive --topic orders --canary 1 --reason 'schema is there'
parked redrive --all --rate 50 --reason 'INC-42 is over'
parked skip --topic orders --key order-7 --reason 'obsolete'
parked drop --topic 'test*' --with-waiting --reason 'tests' --dry-run
dead list
dead errors
dead show 0190c6e2-7c1d-7e8e-9a44-5d2f0c7b1e90
dead redrive --kind permanent --canary 1 --reason 'schema is there'
dead drop --before 30d --reason 'too old'
delayed list
delayed show 0190c6e2-7c1d-7e8e-9a44-5d2f0c7b1e90
delayed cancel 0190c6e2-7c1d-7e8e-9a44-5d2f0c7b1e90 --reason 'order was withdrawn'
messages search --topic orders --newest --limit 10
messages show 0190c6e2-7c1d-7e8e-9a44-5d2f0c7b1e90
messages export --key order-7 --file order-7.jsonl
erase --key customer-17 --reason 'request 17' --dry-run
erase --ids ids.txt --reason 'request 17'
audit --newest --limit 20
audit --follow
migrate up
migrate status
migrate sql --for mysql
replay --from 2h --topic orders --brokers k1:9092 --reason 'lost at the consumer' --dry-run
rebase --group default --start unsettled --reason 'restored' --dry-run
adopt take outbox_events --dry-run
adopt release outbox_events --dry-run
debezium to-leat --connector connector.json --reason 'move' --dry-run
debezium from-leat --connector connector.json --reason 'back'
debezium drop-slot --connector connector.json --reason 'moved'
retention ranges
retention run --retention 168h --dry-run
inbox status
inbox consumers
inbox lookup 0190c6e2-7c1d-7e8e-9a44-5d2f0c7b1e90
inbox attempts --consumer loyalty
inbox parked list --consumer loyalty
inbox parked errors
inbox parked show 0190c6e2-7c1d-7e8e-9a44-5d2f0c7b1e90
inbox parked redrive --consumer loyalty --all --reason 'customer was imported'
inbox parked skip --consumer loyalty --key order-7 --reason 'obsolete'
inbox parked drop --consumer loyalty --all --reason 'obsolete' --dry-run
inbox watermarks list --consumer stock
inbox watermarks set --consumer stock --topic orders --partition 0 --next 4711 --reason 'go on behind it'
inbox watermarks remove --consumer stock --topic orders --partition 3 --reason 'it is gone'
inbox watermarks accept --consumer stock --topic orders --source 6b0f3a52-7c1d-4e8e-9a44-5d2f0c7b1e90 --reason 'it was made again'
inbox retention show
inbox retention enable --retention 336h
inbox retention lower --reason 'the clock was wrong' --dry-run
inbox lag --group loyalty --brokers localhost:9092
inbox rewind --group loyalty --to marks --brokers localhost:9092 --dry-run
inbox audit --consumer loyalty
dash
config lint leat.yaml
config show
config schema
completion bash
version
`
