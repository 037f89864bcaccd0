package grading

import (
	"fmt"

	"assay/testcases/grading/pyvalue"
)

// gradeMarkerSeparation passes if the mean AUROC that the answer reports, and the share
// of its genes whose AUROC is high, are at least their thresholds. The mean over the
// genes is calculated too, but only for the metrics.
func gradeMarkerSeparation(config *pyvalue.Object, answer pyvalue.Value) (Result, error) {
	thresholds, err := getPassThresholds(config)
	if err != nil {
		return Result{}, err
	}
	r := newGraderReport("Marker gene separation")
	given, missing, err := splitMissingFields(answer, "per_gene_stats", "mean_auroc")
	if err != nil || missing != nil {
		return r.missingFieldsResult(answer, missing...), err
	}
	stats, _ := given.Get("per_gene_stats").(pyvalue.List)
	genes, fault, err := readAUROCs(stats)
	if err != nil {
		return Result{}, err
	}
	if fault != "" {
		r.addFailure(fault)
		return r.binaryResult(), nil
	}
	s := &separationGrader{
		report: r, genes: genes, rowCount: len(stats), reportedMean: given.Get("mean_auroc"),
		minMean:     getOrDefault(thresholds, "mean_auroc", pyvalue.Float(0.85)),
		minFraction: getOrDefault(thresholds, "fraction_high", pyvalue.Float(0.7)),
		cutoff:      getOrDefault(thresholds, "per_gene_cutoff", pyvalue.Float(0.8)),
	}
	return s.gradeAnswer()
}

// readAUROCs returns the AUROC of each gene in a marker_separation answer. If a gene
// has several rows, the last counts. fault describes a malformed row, or is "" if there
// is none.
func readAUROCs(stats pyvalue.List) (genes *pyvalue.Dict, fault string, err error) {
	if len(stats) == 0 {
		return nil, "per_gene_stats: want a list of at least one", nil
	}
	genes = &pyvalue.Dict{}
	for i, item := range stats {
		stat, _ := item.(*pyvalue.Object)
		if !stat.Has("gene") || !stat.Has("auroc") {
			return nil, fmt.Sprintf("per_gene_stats[%d]: want an object with gene and auroc, found %s", i, formatValue(item)), nil
		}
		if err := genes.Put(stat.Get("gene"), stat.Get("auroc")); err != nil {
			return nil, "", err
		}
	}
	return genes, "", nil
}

// separationGrader holds a marker_separation answer, the thresholds, and the mean and
// share that measureAUROCs calculates from the answer.
type separationGrader struct {
	report                       *graderReport
	genes                        *pyvalue.Dict
	rowCount                     int           // repetitions included
	reportedMean                 pyvalue.Value // the mean in the answer
	minMean, minFraction, cutoff pyvalue.Value

	mean      pyvalue.Value
	high, low pyvalue.List
	fraction  pyvalue.Float
}

// gradeAnswer compares the reported mean AUROC and the share of high genes with their
// thresholds and returns the result.
func (s *separationGrader) gradeAnswer() (Result, error) {
	if err := s.measureAUROCs(); err != nil {
		return Result{}, err
	}
	if err := checkFitsFloat(s.reportedMean, s.minMean, s.cutoff); err != nil {
		return Result{}, err
	}
	meanPass, err := s.report.requireAtLeast("reported mean AUROC", s.reportedMean, s.minMean)
	if err != nil {
		return Result{}, err
	}
	fractionPass, err := s.report.requireAtLeast("share of genes with an AUROC of at least "+formatValue(s.cutoff), s.fraction, s.minFraction)
	if err == nil && !fractionPass {
		err = checkFitsFloat(s.minFraction) // the reference formats it only then
	}
	if err != nil {
		return Result{}, err
	}
	s.report.addListLine(false, "below", s.low)
	s.setMetrics(meanPass, fractionPass)
	return s.report.binaryResult(), nil
}

// setMetrics sets the metrics of a marker_separation result.
func (s *separationGrader) setMetrics(meanPass, fractionPass bool) {
	m := s.report.metrics
	m.Set("num_genes", pyvalue.NewInt(int64(s.rowCount)))
	m.Set("mean_auroc_agent", s.reportedMean)
	m.Set("mean_auroc_computed", s.mean)
	m.Set("mean_auroc_threshold", s.minMean)
	m.Set("fraction_high", s.fraction)
	m.Set("fraction_high_threshold", s.minFraction)
	m.Set("per_gene_cutoff", s.cutoff)
	m.Set("num_high_auroc_genes", listLengthValue(s.high))
	m.Set("num_low_auroc_genes", listLengthValue(s.low))
	m.Set("high_auroc_genes", s.high)
	m.Set("low_auroc_genes", s.low)
	m.Set("mean_auroc_pass", pyvalue.Bool(meanPass))
	m.Set("fraction_high_pass", pyvalue.Bool(fractionPass))
	m.Set("per_gene_aurocs", s.aurocsByGene())
}

// measureAUROCs calculates the mean AUROC, adding from first to last, and the share of
// rows that are genes with a high AUROC.
func (s *separationGrader) measureAUROCs() error {
	var sum pyvalue.Value = pyvalue.NewInt(0)
	var err error
	for _, gene := range s.genes.Keys() {
		if sum, err = pyvalue.Add(sum, s.genes.Get(gene)); err != nil {
			return err
		}
	}
	if s.mean, err = pyvalue.Divide(sum, listLengthValue(s.genes.Keys())); err != nil {
		return err
	}
	s.high, s.low, err = s.splitByCutoff()
	s.fraction = ratioOrZero(len(s.high), s.rowCount)
	return err
}

// splitByCutoff returns the genes whose AUROC is at or above the cutoff and those below
// it, each list sorted. Genes with NaN are in neither.
func (s *separationGrader) splitByCutoff() (high, low pyvalue.List, err error) {
	for _, gene := range s.genes.Keys() {
		auroc := s.genes.Get(gene)
		isHigh, err := pyvalue.LessOrEqual(s.cutoff, auroc)
		if err != nil {
			return nil, nil, err
		}
		if isHigh {
			high = append(high, gene)
		} else if isLow, _ := pyvalue.Less(auroc, s.cutoff); isLow {
			low = append(low, gene)
		}
	}
	if high, err = pyvalue.SortSet(high); err != nil {
		return nil, nil, err
	}
	low, err = pyvalue.SortSet(low)
	return high, low, err
}

// aurocsByGene returns an object with the AUROC of each gene. A gene that is not a text
// becomes the key that Python's json module would write.
func (s *separationGrader) aurocsByGene() *pyvalue.Object {
	object := &pyvalue.Object{}
	for _, gene := range s.genes.Keys() {
		object.Set(pyvalue.JSONKey(gene), s.genes.Get(gene))
	}
	return object
}
