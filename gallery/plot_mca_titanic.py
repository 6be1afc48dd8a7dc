"""
Who was on the Titanic, and who survived?
=========================================

A table has only categories: the class, sex and age of 2201 people, and whether they survived. There is nothing to
average and no distance between rows. Which people were alike, what made the largest difference between them, and what
has it to do with their fate?
"""

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt

from lowdim import MCA

# How many died and survived.
counts = {
    ("first", "man", "adult"): (118, 57),
    ("first", "man", "child"): (0, 5),
    ("first", "woman", "adult"): (4, 140),
    ("first", "woman", "child"): (0, 1),
    ("second", "man", "adult"): (154, 14),
    ("second", "man", "child"): (0, 11),
    ("second", "woman", "adult"): (13, 80),
    ("second", "woman", "child"): (0, 13),
    ("third", "man", "adult"): (387, 75),
    ("third", "man", "child"): (35, 13),
    ("third", "woman", "adult"): (89, 76),
    ("third", "woman", "child"): (17, 14),
    ("crew", "man", "adult"): (670, 192),
    ("crew", "woman", "adult"): (3, 20),
}
kinds = pd.DataFrame(list(counts), columns=["class", "sex", "age"])
died, survived = np.array(list(counts.values())).T
table = pd.concat([kinds.assign(outcome="died"), kinds.assign(outcome="survived")], ignore_index=True)
people = table.loc[table.index.repeat(np.concatenate([died, survived]))].reset_index(drop=True)
print(people.sample(4, random_state=0).to_string(index=False))

# %%
# Multiple correspondence analysis places similar people near each other, and each level in the direction of the mean of
# the people that have it. The outcome is supplementary: the map is made without it.

mca = MCA(2, supplementary=["outcome"]).fit(people)
print(mca)
figure, ax = plt.subplots(figsize=(8, 5), layout="constrained")
figure.set_label(
    "A map of the levels of four categories. From left to right: crew and men, third class, first and second class, "
    "women, children. The first class is at the top, children and the third class at the bottom. Survived lies to the "
    "right of the centre and above it, died on the opposite side."
)
mca.plot.levels(people, ax=ax)
ax.set_title("Levels of class, sex, age and outcome, with the people as points")
plt.show()

# %%
# The first component goes from the crew and men to women and children: it separates those who worked on the ship from
# families. The second goes from the first class to the third class and children. Adults and men are near the centre
# because most people were adults and men. Survivors are on the side of women and of the first class.
#
# Do not read a probability from it. Both components together have 52% of the inertia, of which a part belongs to single
# columns. Greenacre's correction says that the map shows 81% of the relations between class, sex and age:

print(f"{mca.greenacre_ratio_.sum():.0%}")

# %%
# A map of levels shows relations of two columns at a time. Is that enough for the fate of these people? If we place
# each kind of people, and colour it by the share that survived, we see what the positions of the levels cannot say.

Z = mca.transform(kinds.assign(outcome="died"))
share = survived / (died + survived)
figure, axes = plt.subplots(1, 2, figsize=(11, 4.4), layout="constrained", width_ratios=[1.3, 1])
figure.set_label(
    "Left: fourteen kinds of people on the same map, coloured by the share that survived: low on the left, among men, "
    "and high on the right, except for children of the third class. Right: shares of survivors by class for women, men "
    "and children: nearly all women of the first class, and fewer than half of those of the third."
)
shown = axes[0].scatter(*Z.T, c=share, s=8 * np.sqrt(died + survived), cmap="viridis", vmin=0, vmax=1, edgecolor="0.3")
figure.colorbar(shown, ax=axes[0], label="share that survived")
axes[0].set(xlabel="dim1", ylabel="dim2", title="Kinds of people")
who = np.where(kinds["age"] == "child", "children", kinds["sex"].map({"man": "men", "woman": "women"}))
sums = pd.DataFrame({"who": who, "class": kinds["class"], "survived": survived, "all": died + survived})
shares = sums.groupby(["class", "who"])[["survived", "all"]].sum()
for name, marker in zip(("women", "children", "men"), "osD", strict=True):
    own = shares.xs(name, level="who").reindex(["first", "second", "third", "crew"])
    axes[1].plot(own.index, own["survived"] / own["all"], marker=marker, label=name)
axes[1].set(ylim=(0, 1.03), ylabel="share that survived", title="The same by class")
axes[1].legend()
plt.show()

# %%
# The first component orders the kinds of people roughly by the share that survived, because women and children were
# put into the boats first. But the children of the third class, at the bottom right, are an exception: 34% of them
# survived, fewer than of the women of the same class and of all other children. The map places them far to the right
# because they are children; that being a child helped less in the third class is a relation of three columns, and no
# component of class, sex and age can show it. The map tells which columns to look at, and the table at the right what
# they say.
#
# What you may conclude: sex, age and class all go with survival. What you may not conclude: that one of them is the
# cause, or how much each counts for itself. For that, fit a regression of the outcome.
#
# Source of the idea: R. J. M. Dawson's paper of 1995 on these data, from which the counts are, and the maps of
# correspondence analysis in M. Greenacre's textbook.
