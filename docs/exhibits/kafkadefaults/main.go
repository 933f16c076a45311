// Command kafkadefaults plays the exhibit of that name; see the README beside it.
package main

import (
	"github.com/leat-go/leat/docs/exhibits/gallery"
	"github.com/leat-go/leat/docs/exhibits/scenes/kafkadefaults"
)

func main() { gallery.Main(kafkadefaults.Exhibit()) }
