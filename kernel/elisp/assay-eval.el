;;; assay-eval.el --- The evaluator  -*- lexical-binding: t -*-

;;; Commentary:

;; `agent-eval' is for whoever has a string of Lisp and wants to know what comes
;; of it.  Cells and execute_code go through it too.

;;; Code:

(require 'assay-guard)
(require 'assay-print)

(defconst assay-eval--most (ash 1 20) "Characters of a result.")

(defvar assay-eval-before-function #'ignore
  "Called with the list of forms that are about to be evaluated.")

(defun agent-eval (string)
  "Read all forms of STRING, then evaluate them in order, with lexical binding.
Return a plist, whatever they do:

:success  t, or nil where reading or a form failed or was interrupted
:result   the last value, printed; nil where there is none
:error    the text of what failed, nil where nothing did
:skipped  t where there is no form to evaluate; after a failure the number of
          forms behind the one that failed, nil where it is 0
:forms    the number of forms, 0 where reading failed
:name     the name of the condition that failed
:place    where: \"in line 2: (car 1)\"

A blank STRING, or nil, is a success without a result."
  (let* ((run (list :forms nil :left nil :at nil))
         (outcome (assay-guard (lambda () (assay-eval--run (or string "") run)))))
    (if (car outcome)
        (list :success t :result (cdr outcome) :error nil
              :skipped (null (plist-get run :forms))
              :forms (length (plist-get run :forms)))
      (assay-eval--failure string run (cdr outcome)))))

(defun assay-eval--run (string run)
  "Evaluate STRING and return its printed value.  RUN, a plist, says how far it is."
  (unless (stringp string)
    (signal 'wrong-type-argument (list 'stringp string)))
  (let ((forms (assay-eval--read string run))
        (lexical-binding t) ; some macros look
        (value nil))
    (plist-put run :forms forms)
    (funcall assay-eval-before-function (mapcar #'cdr forms))
    (plist-put run :left forms)
    (while (plist-get run :left)
      (let ((form (car (plist-get run :left))))
        (plist-put run :at (car form))
        (setq value (assay-eval--form (cdr form)))
        (plist-put run :left (cdr (plist-get run :left)))))
    (and forms (assay-print value assay-eval--most))))

(defun assay-eval--failure (string run condition)
  "Return what `agent-eval' does where the RUN of STRING ended with CONDITION."
  (list :success nil :result nil
        :error (assay-describe condition)
        :skipped (let ((behind (length (cdr (plist-get run :left)))))
                   (and (> behind 0) behind))
        :forms (length (plist-get run :forms))
        :name (assay-sound (format "%s" (car condition)))
        :place (and (plist-get run :at) (assay-eval--place string (plist-get run :at)))))

(defun assay-eval--read (string run)
  "Return the forms of STRING, each with its position before it: (POSITION . FORM).
RUN is told where a form begins, in case it cannot be read."
  (with-temp-buffer
    (set-syntax-table emacs-lisp-mode-syntax-table)
    (insert string)
    (goto-char (point-min))
    (let ((forms nil))
      (while (assay-eval--more-p)
        (plist-put run :at (point))
        (push (cons (point) (read (current-buffer))) forms))
      (nreverse forms))))

(defun assay-eval--more-p ()
  "Move over white space and comments, and tell whether something is behind them."
  (while (progn (skip-chars-forward "\0- \u00A0")
                (eq (following-char) ?\;))
    (forward-line 1))
  (not (eobp)))

(defun assay-eval--form (form)
  "Evaluate FORM.
Its macros are expanded first, once and not each time a loop comes by; those
that cannot be, because FORM itself defines what they need, when they are met."
  (let ((form (macroexpand form)))
    (if (eq (car-safe form) 'progn)
        (let ((value nil))
          (dolist (part (cdr form) value)
            (setq value (assay-eval--form part))))
      (eval (condition-case nil
                (macroexpand-all form)
              (error form))
            t))))

(defun assay-eval--place (string position)
  "Return the line of STRING at POSITION, counted from 1, for people."
  (let* ((start (1- position))
         (end (or (string-match-p "\n" string start) (length string)))
         (line 1)
         (at -1))
    (while (and (setq at (string-match-p "\n" string (1+ at)))
                (< at start))
      (setq line (1+ line)))
    (format "in line %d: %s" line (assay-clip (assay-sound (substring string start end)) 200))))

(provide 'assay-eval)
;;; assay-eval.el ends here
