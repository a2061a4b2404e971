package command

import (
	"fmt"
	"os"
	"sort"

	"github.com/goccy/go-yaml"
	"github.com/spf13/cobra"
)

// readConfig sets the flags that the file of --config names and the command line
// does not. Every key must be the name of a flag.
func readConfig(cmd *cobra.Command) error {
	fs := cmd.Flags()
	f := fs.Lookup("config")
	if f == nil || f.Value.String() == "" {
		return nil
	}
	name := f.Value.String()
	data, err := os.ReadFile(name)
	if err != nil {
		return fmt.Errorf("--config: %w", err)
	}
	var config map[string]any
	if err := yaml.UnmarshalWithOptions(data, &config, yaml.Strict()); err != nil {
		return fmt.Errorf("--config: %s: %s", name, yaml.FormatError(err, false, false))
	}
	keys := make([]string, 0, len(config))
	for key := range config {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	for _, key := range keys {
		f := fs.Lookup(key)
		if f == nil || key == "config" {
			return fmt.Errorf("--config: %s: %s has no flag --%s%s", name, cmd.CommandPath(), key, meant(fs, key))
		}
		if f.Changed {
			continue
		}
		values, isList := config[key].([]any)
		if !isList {
			values = []any{config[key]}
		}
		for _, v := range values {
			switch v.(type) {
			case string, bool, int, int64, uint64, float64:
			default:
				return fmt.Errorf("--config: %s: %s: want a text, a number, true or false, or a list of those", name, key)
			}
			if err := fs.Set(key, fmt.Sprint(v)); err != nil {
				return fmt.Errorf("--config: %s: %s: %w", name, key, err)
			}
		}
	}
	return nil
}
