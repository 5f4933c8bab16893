"""skorch, scikit-learn: fit with callbacks, pickle, grid search."""

import pickle

import numpy as np
import torch
from sklearn.datasets import make_classification
from sklearn.model_selection import GridSearchCV
from skorch import NeuralNetClassifier
from skorch.callbacks import EarlyStopping, LRScheduler

X, y = make_classification(200, 10, random_state=0)
X, y = X.astype(np.float32), y.astype(np.int64)


class Net(torch.nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.body = torch.nn.Sequential(torch.nn.Linear(10, width), torch.nn.ReLU(), torch.nn.Linear(width, 2))

    def forward(self, x):
        return self.body(x)


torch.manual_seed(0)
net = NeuralNetClassifier(
    Net,
    criterion=torch.nn.CrossEntropyLoss,
    max_epochs=5,
    lr=0.1,
    verbose=0,
    iterator_train__shuffle=True,
    callbacks=[EarlyStopping(patience=10), LRScheduler(policy=torch.optim.lr_scheduler.StepLR, step_size=2)],
)
net.fit(X, y)
print([f"{each:.4f}" for each in net.history[:, "train_loss"]], f"{net.score(X, y):.3f}")
print((pickle.loads(pickle.dumps(net)).predict(X) == net.predict(X)).all())
torch.manual_seed(0)
search = GridSearchCV(
    NeuralNetClassifier(Net, criterion=torch.nn.CrossEntropyLoss, max_epochs=2, train_split=None, verbose=0),
    {"lr": [0.01, 0.1], "module__width": [4, 8]},
    cv=2,
)
search.fit(X, y)
print([f"{each:.3f}" for each in search.cv_results_["mean_test_score"]])
