package grading

// graders is the one place that lists them. The types that other harnesses know
// too have no check, so that their cases run as they are.
func graders() map[string]grader {
	return map[string]grader{
		"adjusted_mutual_information":  {grade: ofAnswer(mutualInformation)},
		"boolean_check":                {grade: ofAnswer(booleanCheck)},
		"cell_typing":                  {grade: ofAnswer(cellTyping)},
		"command":                      {check: checkCommand, grade: command, readsRecord: true},
		"contains":                     {check: checkContains, grade: ofAnswer(holdsValues)},
		"distribution_comparison":      {grade: ofAnswer(distributionComparison)},
		"exact":                        {check: checkExact, grade: ofAnswer(exact)},
		"jaccard_label_set":            {grade: ofAnswer(labelSet)},
		"kernel_check":                 {check: checkKernelCheck, grade: kernelCheck},
		"label_set_jaccard":            {grade: ofAnswer(labelSet)},
		"llm_judge":                    {check: checkJudge, grade: llmJudge, readsRecord: true},
		"marker_gene_precision_recall": {grade: ofAnswer(markerGenes)},
		"marker_gene_separation":       {grade: ofAnswer(markerSeparation)},
		"multiple_choice":              {grade: ofAnswer(multipleChoice)},
		"notebook_check":               {check: checkNotebookCheck, grade: notebookCheck},
		"numeric_range":                {grade: ofAnswer(numericRange)},
		"numeric_tolerance":            {grade: ofAnswer(numericTolerance)},
		"proportion_consistency":       {grade: ofAnswer(proportionConsistency)},
		"regex":                        {check: checkRegex, grade: ofAnswer(matches)},
		"spatial_adjacency":            {grade: ofAnswer(spatialAdjacency)},
		"spatial_adjacency_simple":     {grade: ofAnswer(spatialAdjacency)},
	}
}
