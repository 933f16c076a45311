// Command all plays all exhibits and prints what was found as a table.
package main

import (
	"github.com/leat-go/leat/docs/exhibits/exhibit"
	"github.com/leat-go/leat/docs/exhibits/scenarios"
)

func main() { exhibit.Main(scenarios.All()...) }
