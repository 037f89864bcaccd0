;;; assay-names.el --- The user's variables and functions  -*- lexical-binding: t -*-

;;; Commentary:

;; A variable or function is the user's when it was bound after the start, and
;; not by a file that was loaded.  A symbol may be the one and not the other:
;; "list" is Emacs's function, and anybody's variable.  So what is known of a
;; symbol is a sum of `assay-names--variable' and `assay-names--function'.

;;; Code:

(require 'assay-print)

(defconst assay-names--variable 1)
(defconst assay-names--function 2)

(defconst assay-names--most 20000 "Conses of a cell's forms that are gone through for names.")

(defvar assay-names--given nil "Hash table of symbols to what of them was bound at the start.")
(defvar assay-names--history nil "`load-history' at the start.")
(defvar assay-names--originals nil "Hash table of given symbols that were changed, to their bindings.")

(defun assay-names-settle ()
  "Take what is bound now for Emacs's own."
  (setq assay-names--given (make-hash-table :test #'eq :size 16384)
        assay-names--originals (make-hash-table :test #'eq)
        assay-names--history load-history)
  (mapatoms (lambda (symbol)
              (let ((bound (assay-names--bound symbol)))
                (unless (zerop bound)
                  (puthash symbol bound assay-names--given)))))
  (fset 'assay-names-keeper (assay-names--keeper)))

(defun assay-names-keeper ()
  "Return a function that puts back functions: the kernel's or, with t, all.
They are then those of when the names were settled.

Whoever runs code of the user's asks before, and keeps the answer in a lexical
variable: the code may put another in the place of this function, but finds no
name of what that returned."
  #'ignore)

(defsubst assay-names--put-back (own others variables)
  "Have the functions in OWN and OTHERS, and VARIABLES, be as is noted there.
Compiled, it calls no function: each of these is an instruction."
  (dolist (functions (list own others))
    (dolist (kept functions)
      (unless (eq (symbol-function (car kept)) (cdr kept))
        (fset (car kept) (cdr kept)))))
  (dolist (kept variables)
    (unless (eq (symbol-value (car kept)) (cdr kept))
      (set (car kept) (cdr kept)))))

(defun assay-names--keeper ()
  "Return the `assay-names-keeper' for functions and variables as they are now."
  (let ((own nil)
        (others nil)
        (variables nil))
    (mapatoms (lambda (symbol)
                (let ((ours (string-match-p "\\`\\(?:assay\\|agent\\)-" (symbol-name symbol))))
                  (when (and ours (boundp symbol) (assay-names--constant-p symbol))
                    (push (cons symbol (symbol-value symbol)) variables))
                  (when (and (fboundp symbol) (not (autoloadp (symbol-function symbol)))
                             (not (eq symbol 'assay-names-keeper)))
                    (let ((kept (cons symbol (symbol-function symbol))))
                      (if ours (push kept own) (push kept others)))))))
    (let* ((self (cons 'assay-names-keeper nil))
           (keeper (lambda (&optional all)
                     (assay-names--put-back (cons self own) (and all others) variables))))
      (setcdr self (lambda () keeper)))))

(defun assay-names--constant-p (symbol)
  "Whether SYMBOL, a variable of the kernel's, is a constant or a function."
  (or (get symbol 'risky-local-variable)
      (string-suffix-p "-function" (symbol-name symbol))))

(defun assay-names--bound (symbol)
  "Return what of SYMBOL is bound."
  (logior (if (boundp symbol) assay-names--variable 0)
          (if (fboundp symbol) assay-names--function 0)))

(defun assay-names--loaded ()
  "Return a hash table of symbols to what files define that were loaded since."
  (let ((loaded (make-hash-table :test #'eq))
        (files load-history))
    (while (and files (not (eq files assay-names--history)))
      (dolist (definition (cdr (pop files)))
        (pcase definition
          ((pred symbolp) (assay-names--add definition assay-names--variable loaded))
          (`(,(or 'provide 'require) . ,_))
          (`(,_ . ,(and symbol (pred symbolp)))
           (assay-names--add symbol assay-names--function loaded)))))
    loaded))

(defun assay-names--add (symbol what table)
  "Add WHAT to what TABLE knows of SYMBOL."
  (puthash symbol (logior what (gethash symbol table 0)) table))

(defun assay-names--own (symbol loaded)
  "Return what of SYMBOL is bound and the user's, neither given nor LOADED."
  (if (keywordp symbol)
      0
    (logand (assay-names--bound symbol)
            (lognot (logior (gethash symbol assay-names--given 0)
                            (gethash symbol loaded 0))))))

(defun assay-names ()
  "Return the user's names in order: (SYMBOL . WHAT) each.
Private ones, with \"--\" in them, and what structures leave are not among them."
  (let ((names nil))
    (dolist (name (assay-names--all))
      (unless (string-match-p "--\\|\\`cl-struct-" (symbol-name (car name)))
        (push name names)))
    (sort names (lambda (a b) (string< (car a) (car b))))))

(defun assay-names--all ()
  "Return all of the user's names: (SYMBOL . WHAT) each."
  (let ((loaded (assay-names--loaded))
        (names nil))
    (mapatoms (lambda (symbol)
                (let ((own (assay-names--own symbol loaded)))
                  (unless (zerop own)
                    (push (cons symbol own) names)))))
    names))

(defun assay-names-find (name)
  "Return the user's (SYMBOL . WHAT) called NAME, nil where there is none."
  (assq (intern-soft name) (assay-names--all)))

(defun assay-names-variable-p (what)
  "Whether WHAT is known of a symbol has a variable in it."
  (not (zerop (logand what assay-names--variable))))

(defun assay-names-bindings (forms)
  "Return how the symbols in FORMS are bound: (SYMBOL VARIABLE FUNCTION) each.
VARIABLE is (VALUE), or nil where it is void."
  (let ((seen (make-hash-table :test #'eq))
        (bindings nil)
        (items (list forms))
        (left assay-names--most))
    (while (and items (> (setq left (1- left)) 0))
      (let ((item (pop items)))
        (cond
         ((consp item)
          (push (cdr item) items)
          (push (car item) items))
         ((or (null item) (not (symbolp item)) (keywordp item) (gethash item seen)))
         (t (puthash item t seen)
            (push (assay-names--binding item) bindings)))))
    bindings))

(defun assay-names--binding (symbol)
  "Return how SYMBOL is bound: (SYMBOL VARIABLE FUNCTION)."
  (list symbol (and (boundp symbol) (list (symbol-value symbol))) (symbol-function symbol)))

(defun assay-names-changed (before)
  "Return, in order, the user's names that are bound to something else than BEFORE.
What was changed of Emacs's own is noted, for `assay-names-clear'."
  (let ((loaded (assay-names--loaded))
        (names nil))
    (dolist (old before)
      (let* ((symbol (car old))
             (changed (assay-names--difference old (assay-names--binding symbol)))
             (own (assay-names--own symbol loaded)))
        (cond
         ((zerop changed))
         ((not (zerop (logand changed own))) (push symbol names))
         ((not (gethash symbol assay-names--originals))
          (puthash symbol old assay-names--originals)))))
    (mapcar (lambda (symbol) (assay-sound (symbol-name symbol))) (sort names #'string<))))

(defun assay-names--difference (old new)
  "Return what of a symbol is bound otherwise in the binding NEW than in OLD."
  (let ((before (nth 1 old))
        (after (nth 1 new)))
    (logior (if (and (eq (null before) (null after)) (eq (car before) (car after)))
                0
              assay-names--variable)
            (if (eq (nth 2 old) (nth 2 new)) 0 assay-names--function))))

(defun assay-names-clear ()
  "Unbind the user's names, and bind Emacs's own as they were."
  (maphash (lambda (_ original) (ignore-errors (assay-names--restore original)))
           assay-names--originals)
  (clrhash assay-names--originals)
  (dolist (name (assay-names--all))
    (when (assay-names-variable-p (cdr name))
      (ignore-errors (makunbound (car name))))
    (unless (zerop (logand (cdr name) assay-names--function))
      (fmakunbound (car name)))))

(defun assay-names--restore (original)
  "Bind a symbol as ORIGINAL, a binding, says."
  (pcase-let ((`(,symbol ,variable ,function) original))
    (fset symbol function)
    (if variable
        (set symbol (car variable))
      (makunbound symbol))))

(provide 'assay-names)
;;; assay-names.el ends here
