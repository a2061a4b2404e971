# Prints the histograms that TestHoGEqualsScikitImage compares with:
#
#	pip install scikit-image==0.26.0 && python hog.py > hog.txt
import numpy as np
from skimage.feature import hog

# height, width, cell, orientations, and what whole numbers are multiplied with
for height, width, cell, orientations, scale in [
    (32, 32, 4, 8, 1.0),
    (32, 32, 4, 8, 1 / 256),
    (32, 32, 8, 9, 1.0),
    (13, 17, 3, 12, 1.0),  # an odd cell, and pixels that no cell holds
    (9, 7, 2, 1, 1 / 1024),
    (5, 5, 5, 180, 1.0),
    (8, 8, 4, 8, 2**-24),  # gradients as small as the regularisation
]:
    y, x = np.mgrid[0:height, 0:width]
    image = (7 * x * x + 13 * y * y + 5 * x * y + (31 * x * x * y + 17 * y * y) % 97) % 256
    features = hog(
        image * scale,
        orientations=orientations,
        pixels_per_cell=(cell, cell),
        cells_per_block=(1, 1),
        block_norm="L2-Hys",
    )
    print(height, width, cell, orientations, scale, *(f"{f:.9g}" for f in features))
