package lint

import (
	"fmt"
	"slices"
	"strings"

	"assay/testcases/grading/pyvalue"
)

// checkMetadata checks the four metadata values by which the public benchmarks sort
// their cases. The known kits and horizons are those that occur in their files; a new
// one is only a warning.
func (c *caseChecker) checkMetadata() {
	metadata, ok := c.object.Get("metadata").(*pyvalue.Object)
	if !ok || c.isAssayCase {
		return
	}
	c.checkMetadataValue(metadata, "task", "E010", "E011",
		"qc", "normalization", "dimensionality_reduction", "clustering", "cell_typing", "differential_expression", "spatial_analysis")
	c.checkMetadataValue(metadata, "kit", "E012", "W013",
		"xenium", "visium", "merfish", "vizgen", "cosmx", "seeker", "takara", "atlasxomics", "curio",
		"chromium", "bd_rhapsody", "csgenetics", "illumina-snrna", "missionbio-tapestri", "parsebio")
	c.checkMetadataValue(metadata, "time_horizon", "E014", "W015", "small", "long")
	c.checkMetadataValue(metadata, "eval_type", "W001", "E016", "scientific", "procedural", "observational")
}

// checkMetadataValue adds an issue with the code missing if metadata has no such key,
// or with the code unknown if its value is not a known one.
func (c *caseChecker) checkMetadataValue(metadata *pyvalue.Object, key, missing, unknown string, known ...string) {
	want := "one of " + strings.Join(known, ", ")
	v := metadata.Get(key)
	text, isText := v.(pyvalue.String)
	switch {
	case v == nil:
		c.addIssue(missing, "", "metadata.%s is missing: want %s", key, want)
	case !isText || !slices.Contains(known, string(text)):
		c.addIssue(unknown, "", "metadata.%s: %s is not known: want %s", key, describeValue(v), want).addCorrectionFix(key, v, known)
	}
}

// checkDataNode checks that data_node has addresses of the benchmarks' platform or, in
// a case with fields of Assay, any texts.
func (c *caseChecker) checkDataNode() {
	switch v := c.object.Get("data_node").(type) {
	case nil, pyvalue.Null:
	case pyvalue.String:
		c.checkPlatformAddress("data_node", string(v))
	case pyvalue.List:
		for i, item := range v {
			at := fmt.Sprintf("data_node[%d]", i)
			if name, ok := item.(pyvalue.String); ok {
				c.checkPlatformAddress(at, string(name))
			} else {
				c.addIssue("E020", at, "want a text, found %s", describeValue(item))
			}
		}
	default:
		c.addIssue("E022", "", "data_node: want a text or a list of texts, found %s", describeValue(v))
	}
}

// checkPlatformAddress adds an issue if name, in a case of the public format, is not an
// address of the benchmarks' platform.
func (c *caseChecker) checkPlatformAddress(at, name string) {
	if !c.isAssayCase && !c.addressPattern.MatchString(name) {
		c.addIssue("E021", at, "%s is no latch://NUMBER.account/PATH and no latch://NUMBER.node; a path is for cases with fields of Assay's own, such as tags", describeValue(pyvalue.String(name)))
	}
}
