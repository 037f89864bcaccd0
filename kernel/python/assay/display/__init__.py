"""Values as MIME bundles: display(), pretty-printed text, figures and tables."""
