;;; assay-answers.el --- Requests that are answered at once  -*- lexical-binding: t -*-

;;; Commentary:

;; These requests run no code of the user, so they need not be queued.

;;; Code:

(require 'assay-channel)
(require 'assay-request)
(require 'assay-schedule)
(require 'assay-summary)

(defconst assay-answers-handlers
  '(("ping" . assay-answers--ping)
    ("debug_state" . assay-answers--debug-state)
    ("globals_summary" . assay-answers--globals-summary)
    ("get_global_info" . assay-answers--get-global-info)
    ("reactivity_summary" . assay-answers--reactivity-summary)
    ("set_widget_value" . assay-answers--set-widget-value)
    ("agent_action" . assay-answers--agent-action))
  "Alist from the type of a request to the function that answers it.")

(defconst assay-answers--reactivity
  '( :summary "## Reactive Dependencies\n\n### Signals\n\n### Code Cell Dependencies\n"
     :cell_reactivity nil)
  "The reactivity summary of a language without reactivity.")

(defun assay-answers--answer (request type &rest fields)
  "Answer REQUEST with a message of TYPE with FIELDS, a plist."
  (apply #'assay-channel-answer (assay-request-tx request) :type type fields))

(defun assay-answers--ping (request)
  "Answer REQUEST, a ping."
  (assay-answers--answer request "pong"))

(defun assay-answers--debug-state (request)
  "Answer REQUEST for the kernel's state."
  (assay-answers--answer
   request "debug_state"
   :data `(:pid ,(emacs-pid) :names ,(length (assay-names)) ,@(assay-schedule-state))))

(defun assay-answers--globals-summary (request)
  "Answer REQUEST for the user's names."
  (apply #'assay-answers--answer request "globals_summary" (assay-summary)))

(defun assay-answers--reactivity-summary (request)
  "Answer REQUEST for the reactivity summary."
  (apply #'assay-answers--answer request "reactivity_summary" assay-answers--reactivity))

(defun assay-answers--get-global-info (request)
  "Answer REQUEST for one of the user's names."
  (let* ((key (assay-request-text request "key"))
         (name (assay-names-find key))
         (found (if name
                    (list :status "success" :info (assay-summary-describe name))
                  (list :status "error" :error (format "there is no global '%s'" key)))))
    (apply #'assay-answers--answer request "get_global_info_response" found)))

(defun assay-answers--set-widget-value (request)
  "Answer REQUEST to set widgets with errors, since there are none."
  (let ((errors (make-hash-table :test #'equal)))
    (maphash (lambda (key _) (puthash key "there is no such widget" errors))
             (assay-request-object request "data"))
    (assay-answers--answer request "set_widget_value_response"
                           :status (if (zerop (hash-table-count errors)) "success" "error")
                           :errors errors)))

(defun assay-answers--agent-action (request)
  "Answer REQUEST, the older form of the two summary requests."
  (let* ((action (assay-request-text request "action"))
         (summary (pcase action
                    ("request_globals_summary" (assay-summary))
                    ("request_reactivity_summary" assay-answers--reactivity)
                    (_ (assay-request-fail
                        "agent_action: a kernel does not know the action '%s'" action)))))
    (apply #'assay-answers--answer request "agent_action_response"
           :tx_id (assay-request-text request "tx_id") :status "success" summary)))

(provide 'assay-answers)
;;; assay-answers.el ends here
